// Cuts template source into text and tokens, with Jinja's whitespace rules (trim_blocks and lstrip_blocks
// on).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::text {

struct TemplateToken {
  enum class Kind {
    kText,
    kBlockBegin,
    kBlockEnd,
    kOutputBegin,
    kOutputEnd,
    kName,
    kString,
    kInteger,
    kFloat,
    kSymbol,
    kEnd
  };
  Kind kind = Kind::kEnd;
  std::string text;
  int line = 1;
};

Result<std::vector<TemplateToken>> lex_template(std::string_view source);

}  // namespace sluice::text
