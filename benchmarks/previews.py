import sys
if __name__ == "__main__":
    from benchmarks.recordings.recorder import record
    for line in record(sys.argv[2:]):
        print(line, flush=True)
