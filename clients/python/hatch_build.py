"""Generates the types of the API when the package is built from a clone of the repository."""

import subprocess
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GenerateTypes(BuildHookInterface):
    def initialize(self, version, build_data):
        # A source distribution contains them.
        if (Path(self.root) / "src/stillframe/wire.py").exists():
            return
        repository = Path(self.root).parents[1]
        command = ["node", "scripts/run-ts.mjs", "--no-build", "scripts/write-client-types.ts"]
        try:
            subprocess.run(command, cwd=repository, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise RuntimeError(
                "The types of the API are missing. Run `npm run client-types` in the root of the repository, which needs Node."
            ) from error
