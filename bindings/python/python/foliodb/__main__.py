"""`python -m foliodb`: the command `folio` if its script is not on the path."""

from __future__ import annotations

import sys

from foliodb_command import main

sys.exit(main())
