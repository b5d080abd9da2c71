"""`python -m tract` is the command `tract`."""

from tract.cli import main

if __name__ == "__main__":
    main()
