.PHONY: demo test lint docs

demo test lint docs:
	@python3 dev.py $@
