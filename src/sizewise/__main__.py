"""``python -m sizewise``: the command line, where its script is not on the path."""

from sizewise.cli.main import main

if __name__ == "__main__":
    main()
