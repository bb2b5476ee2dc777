#!/usr/bin/env python3
"""Tests of tidy.py: each rule fires on a planted breach and stays silent on clean code."""
import unittest

import tidy


class TidyTest(unittest.TestCase):
    def test_clean_file_passes(self):
        text = "#include \"base/check.h\"\nint f() {\n  return 1;\n}\n"
        self.assertEqual(list(tidy.check_text("src/text/a.cpp", text)), [])
        self.assertEqual(list(tidy.check_includes("src/text/a.cpp", text)), [])

    def test_long_function(self):
        body = "int f() {\n" + "  g();\n" * 60 + "}\n"
        self.assertIn("function has 62 lines", list(tidy.check_text("src/text/a.cpp", body))[0])
        self.assertEqual(list(tidy.check_text("src/backend/cpu/kernels/a.cpp", body)), [])

    def test_long_file_and_line(self):
        self.assertIn("file has 401 lines", list(tidy.check_text("src/text/a.cpp", "\n" * 401))[0])
        self.assertIn("111 columns", list(tidy.check_text("src/text/a.cpp", "x" * 111))[0])

    def test_banned_calls(self):
        for line in ("std::cout << 1;", "auto* x = new Foo();", "getenv(\"A\");", "#include <boost/beast.hpp>",
                     "// TODO later"):
            self.assertTrue(list(tidy.check_text("src/text/a.cpp", line)), line)
        self.assertFalse(list(tidy.check_text("apps/a.cpp", "getenv(\"A\");")))

    def test_dependency_table(self):
        self.assertTrue(list(tidy.check_includes("src/engine/a.cpp", '#include "text/message.h"')))
        self.assertFalse(list(tidy.check_includes("src/server/a.cpp", '#include "text/message.h"')))

    def test_dead_header(self):
        files = {"src/text/a.h": "", "src/text/b.h": "", "src/text/b.cpp": '#include "text/b.h"'}
        self.assertEqual(len(list(tidy.check_dead_headers(files))), 1)


if __name__ == "__main__":
    unittest.main()
