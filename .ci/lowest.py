"""Print every declared lower bound as a constraint: `requests>=2.32` becomes `requests==2.32`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

BOUND = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(?:\[[a-z,]+\])?>=(?P<version>[0-9][0-9a-z.]*)")


def main() -> None:
    """Read pyproject.toml beside this folder, print the constraints for pip."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    for requirement in [*project["dependencies"], *(line for extra in extras for line in extra)]:
        if requirement.startswith(project["name"] + "["):
            continue
        bound = BOUND.match(requirement)
        if bound is None:
            raise SystemExit(f"{requirement!r} declares no lower bound.")
        print(f"{bound['name']}=={bound['version']}")


if __name__ == "__main__":
    main()
