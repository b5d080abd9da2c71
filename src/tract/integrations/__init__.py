"""One module for each framework: its agents run on a dialog. A framework is imported only with its
module."""
