#!/usr/bin/env python3
"""Print "passed failed" of a JUnit XML file written by ctest or pytest; skipped tests count as neither."""
import sys
import xml.etree.ElementTree as ET

cases = list(ET.parse(sys.argv[1]).getroot().iter("testcase"))
bad = sum(1 for c in cases if c.find("failure") is not None or c.find("error") is not None or c.get("status") == "fail")
skipped = sum(1 for c in cases if c.find("skipped") is not None or c.get("status") in ("notrun", "disabled"))
print(len(cases) - bad - skipped, bad)
