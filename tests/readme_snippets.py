"""Run the Python blocks of a page one after another, with whatever sizewise is installed: ``readme_snippets.py README.md``."""

import re
import sys
from pathlib import Path


def snippets(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


if __name__ == "__main__":
    import sizewise

    found = snippets(Path(sys.argv[1]))
    exec("\n".join(found), {})
    print(f"{len(found)} snippets ran with sizewise {sizewise.__version__} from {Path(sizewise.__file__).parent}")
