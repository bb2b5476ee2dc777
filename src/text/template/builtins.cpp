#include "text/template/builtins.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "text/template/text_functions.h"

namespace sluice::text {
namespace {

tl::unexpected<Error> wrong(std::string_view what) { return fail(ErrorCode::kInvalidArgument, "{}", what); }

Result<Value> length_of(const Value& value) {
  if (value.text() != nullptr) return Value{static_cast<std::int64_t>(count_points(value.text()->chars))};
  if (value.list() != nullptr) return Value{static_cast<std::int64_t>(value.list()->size())};
  if (value.dict() != nullptr) return Value{static_cast<std::int64_t>(value.dict()->size())};
  return wrong("length of something that has none");
}

Value items_of(const ValueDict& dict) {
  ValueList items;
  for (const auto& [key, value] : dict) items.push_back(Value::make_list({{MarkedText::user(key)}, value}));
  return Value::make_list(std::move(items));
}

void write_string(MarkedText& out, const MarkedText& text) {
  out.append(MarkedText::scaffold("\""));
  for (std::size_t i = 0; i < text.chars.size(); ++i) {
    const char c = text.chars[i];
    std::string escaped(1, c);
    if (c == '"')
      escaped = "\\\"";
    else if (c == '\\')
      escaped = "\\\\";
    else if (c == '\n')
      escaped = "\\n";
    else if (c == '\r')
      escaped = "\\r";
    else if (c == '\t')
      escaped = "\\t";
    else if (c == '\b')
      escaped = "\\b";
    else if (c == '\f')
      escaped = "\\f";
    else if (static_cast<unsigned char>(c) < 0x20)
      escaped = fmt::format("\\u{:04x}", static_cast<int>(c));
    out.append({escaped, std::string(escaped.size(), text.marks[i])});
  }
  out.append(MarkedText::scaffold("\""));
}

std::string number_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

Status write_scalar(MarkedText& out, const Value& value) {
  if (value.is_undefined() || value.name_space() != nullptr) return wrong("this value has no JSON form");
  if (value.text() != nullptr) {
    write_string(out, *value.text());
    return {};
  }
  std::string text = "null";
  if (const auto* flag = value.as<bool>()) text = *flag ? "true" : "false";
  if (const auto* whole = value.as<std::int64_t>()) text = std::to_string(*whole);
  if (const auto* number = value.as<double>()) text = number_text(*number);
  out.append(MarkedText::scaffold(text));
  return {};
}

Status write_json(MarkedText& out, const Value& value, int indent, int depth) {
  const auto put = [&](std::string_view text) { out.append(MarkedText::scaffold(text)); };
  const auto separate = [&](bool is_first, int level) {
    if (!is_first) put(indent < 0 ? ", " : ",");
    if (indent >= 0) put("\n" + std::string(static_cast<std::size_t>(indent * level), ' '));
  };
  SLUICE_TRY_STATUS(check_bytes(out.chars.size()));
  const bool is_list = value.list() != nullptr;
  if (!is_list && value.dict() == nullptr) return write_scalar(out, value);
  put(is_list ? "[" : "{");
  const std::size_t count = is_list ? value.list()->size() : value.dict()->size();
  for (std::size_t i = 0; i < count; ++i) {
    separate(i == 0, depth + 1);
    if (!is_list) {
      write_string(out, MarkedText::user((*value.dict())[i].first));
      put(": ");
    }
    const Status item =
        write_json(out, is_list ? (*value.list())[i] : (*value.dict())[i].second, indent, depth + 1);
    SLUICE_TRY_STATUS(item);
  }
  if (indent >= 0 && count > 0) put("\n" + std::string(static_cast<std::size_t>(indent * depth), ' '));
  put(is_list ? "]" : "}");
  return {};
}

Result<Value> join(const Value& value, const MarkedText& separator) {
  if (value.list() == nullptr) return wrong("join needs a list");
  MarkedText out;
  for (std::size_t i = 0; i < value.list()->size(); ++i) {
    if (i > 0) out.append(separator);
    SLUICE_TRY(const MarkedText part, to_text((*value.list())[i]));
    out.append(part);
    SLUICE_TRY_STATUS(check_bytes(out.chars.size()));
  }
  return Value{std::move(out)};
}

Result<Value> text_filter(std::string_view name, const Value& value, const ValueList& arguments) {
  SLUICE_TRY(const MarkedText text, to_text(value));  // of a number too, as in jinja2
  if (name == "trim")
    return Value{strip(text, arguments.empty() ? nullptr : arguments[0].text(), true, true)};
  if (name == "upper" || name == "lower") return change_case(text, name == "upper");
  return fail(ErrorCode::kInvalidArgument, "filter {} cannot be used here", name);
}

Result<Value> list_filter(std::string_view name, const Value& value, const ValueList& arguments) {
  if (name == "length" || name == "count") return length_of(value);
  if (name == "items")
    return value.dict() != nullptr ? Result<Value>(items_of(*value.dict())) : wrong("items needs a mapping");
  if (name == "join") {
    return join(value, !arguments.empty() && arguments[0].text() ? *arguments[0].text() : MarkedText());
  }
  if (name == "list" && value.list() != nullptr) return Value::make_list(*value.list());
  if (name == "first" || name == "last") {
    if (value.list() == nullptr) return wrong("first and last need a list");
    if (value.list()->empty()) return Value{};
    return name == "first" ? value.list()->front() : value.list()->back();
  }
  return text_filter(name, value, arguments);
}

bool contains(const Value& container, const Value& item) {
  if (container.text() != nullptr && item.text() != nullptr) {
    return container.text()->chars.find(item.text()->chars) != std::string::npos;
  }
  if (container.list() != nullptr) {
    return std::ranges::any_of(*container.list(), [&](const Value& other) { return equals(other, item); });
  }
  return container.dict() != nullptr && item.text() != nullptr &&
         !look_up(*container.dict(), item.text()->chars).is_undefined();
}

Result<Value> arithmetic(char op, double x, double y, bool is_whole) {
  if ((op == '/' || op == '%' || op == 'd') && y == 0) return wrong("division by zero");
  double result = 0;
  if (op == '+') result = x + y;
  if (op == '-') result = x - y;
  if (op == '*') result = x * y;
  if (op == '/') return Value{x / y};
  if (op == 'd') result = std::floor(x / y);
  if (op == '%') result = x - std::floor(x / y) * y;
  if (is_whole && std::abs(result) < 9e15) return Value{static_cast<std::int64_t>(result)};
  return Value{result};
}

std::int64_t whole_of(const Value& value) {
  const auto* flag = value.as<bool>();
  return flag != nullptr ? std::int64_t{*flag} : *value.as<std::int64_t>();
}

bool number_of(const Value& value, double& out) {
  if (const auto* whole = value.as<std::int64_t>())
    out = static_cast<double>(*whole);
  else if (const auto* number = value.as<double>())
    out = *number;
  else if (const auto* flag = value.as<bool>())
    out = *flag ? 1 : 0;
  else
    return false;
  return true;
}

}  // namespace

Result<MarkedText> to_text(const Value& value) {
  if (value.text() != nullptr) return *value.text();
  if (value.is_undefined()) return MarkedText();
  if (value.is_none()) return MarkedText::scaffold("None");
  if (const auto* flag = value.as<bool>()) return MarkedText::scaffold(*flag ? "True" : "False");
  if (const auto* whole = value.as<std::int64_t>()) return MarkedText::scaffold(std::to_string(*whole));
  if (const auto* number = value.as<double>()) return MarkedText::scaffold(number_text(*number));
  return wrong("a list or mapping cannot be printed; use tojson");
}

Result<MarkedText> to_json(const Value& value, int indent) {
  MarkedText out;
  SLUICE_TRY_STATUS(write_json(out, value, indent, 0));
  return out;
}

Result<Value> apply_filter(std::string_view name, const Value& value, const ValueList& arguments,
                           const NamedValues& named) {
  if (name == "tojson") {
    int indent = -1;
    for (const auto& [key, option] : named) {
      const auto* whole = option.as<std::int64_t>();
      if (key == "indent" && whole != nullptr && *whole >= 0 && *whole <= 16)
        indent = static_cast<int>(*whole);
    }
    SLUICE_TRY(MarkedText text, to_json(value, indent));
    return Value{std::move(text)};
  }
  if (name == "default") {
    const bool replaces_false = arguments.size() > 1 && is_true(arguments[1]);
    if (value.is_undefined() || (replaces_false && !is_true(value)))
      return arguments.empty() ? Value::scaffold("") : arguments[0];
    return value;
  }
  if (name == "safe") return value;
  if (name == "string") return to_text(value).map([](MarkedText text) { return Value{std::move(text)}; });
  return list_filter(name, value, arguments);
}

Result<Value> call_method(std::string_view name, const Value& value, const ValueList& arguments) {
  const MarkedText* first = arguments.empty() ? nullptr : arguments[0].text();
  if (const ValueDict* dict = value.dict()) {
    if (name == "items") return items_of(*dict);
    if (name == "get" && first != nullptr) {
      const Value found = look_up(*dict, first->chars);
      if (!found.is_undefined()) return found;
      return arguments.size() > 1 ? arguments[1] : Value{None{}};
    }
    ValueList list;
    for (const auto& [key, item] : *dict)
      list.push_back(name == "keys" ? Value{MarkedText::user(key)} : item);
    if (name == "keys" || name == "values") return Value::make_list(std::move(list));
  }
  const MarkedText* text = value.text();
  if (text == nullptr) return fail(ErrorCode::kInvalidArgument, "this value has no method {}", name);
  if (name == "upper" || name == "lower") return change_case(*text, name == "upper");
  if (name.ends_with("strip")) {
    return Value{strip(*text, first, name != "rstrip", name != "lstrip")};
  }
  if (name == "split") {
    if (first == nullptr) return Value::make_list(split_blank(*text));
    if (first->chars.empty()) return wrong("split by an empty text");
    const auto* limit = arguments.size() > 1 ? arguments[1].as<std::int64_t>() : nullptr;
    return Value::make_list(split_by(*text, first->chars, limit != nullptr ? *limit : -1));
  }
  if (first == nullptr) return fail(ErrorCode::kInvalidArgument, "method {} needs a text", name);
  if (name == "startswith") return Value{text->chars.starts_with(first->chars)};
  if (name == "endswith") return Value{text->chars.ends_with(first->chars)};
  if (name == "replace" && arguments.size() > 1 && arguments[1].text() != nullptr && !first->chars.empty()) {
    SLUICE_TRY(MarkedText replaced, replace_all(*text, first->chars, *arguments[1].text()));
    return Value{std::move(replaced)};
  }
  return fail(ErrorCode::kInvalidArgument, "method {} cannot be used here", name);
}

Result<Value> apply_operator(std::string_view op, const Value& a, const Value& b) {
  if (op == "==") return Value{equals(a, b)};
  if (op == "!=") return Value{!equals(a, b)};
  if (op == "in" || op == "not in") {
    if (b.text() == nullptr && b.list() == nullptr && b.dict() == nullptr)
      return wrong("\"in\" needs a text, list or mapping");
    return Value{contains(b, a) == (op == "in")};
  }
  if (op == "~") {
    SLUICE_TRY(MarkedText joined, to_text(a));
    SLUICE_TRY(const MarkedText right, to_text(b));
    joined.append(right);
    return Value{std::move(joined)};
  }
  if (op == "+" && a.text() != nullptr && b.text() != nullptr) {
    MarkedText joined = *a.text();
    joined.append(*b.text());
    return Value{std::move(joined)};
  }
  if (op == "+" && a.list() != nullptr && b.list() != nullptr) {
    ValueList joined = *a.list();
    joined.insert(joined.end(), b.list()->begin(), b.list()->end());
    return Value::make_list(std::move(joined));
  }
  const bool is_order = op == "<" || op == ">" || op == "<=" || op == ">=";
  double x = 0;
  double y = 0;
  if (is_order && a.text() != nullptr && b.text() != nullptr) {
    x = a.text()->chars.compare(b.text()->chars);
  } else if (!number_of(a, x) || !number_of(b, y)) {
    return fail(ErrorCode::kInvalidArgument, "operator {} cannot be used with these values", op);
  }
  if (is_order) return Value{op == "<" ? x < y : op == ">" ? x > y : op == "<=" ? x <= y : x >= y};
  const bool is_whole = a.as<double>() == nullptr && b.as<double>() == nullptr;
  if (is_whole) {
    std::int64_t exact = 0;
    const std::int64_t left = whole_of(a);
    const std::int64_t right = whole_of(b);
    const bool overflows = op == "+"   ? __builtin_add_overflow(left, right, &exact)
                           : op == "-" ? __builtin_sub_overflow(left, right, &exact)
                           : op == "*" ? __builtin_mul_overflow(left, right, &exact)
                                       : true;
    if (!overflows) return Value{exact};
  }
  return arithmetic(op == "//" ? 'd' : op[0], x, y, is_whole);
}

bool passes_test(std::string_view name, const Value& value) {
  const auto* whole = value.as<std::int64_t>();
  const auto* flag = value.as<bool>();
  if (name == "defined") return !value.is_undefined();
  if (name == "undefined") return value.is_undefined();
  if (name == "none") return value.is_none();
  if (name == "string") return value.text() != nullptr;
  if (name == "mapping") return value.dict() != nullptr;
  if (name == "iterable" || name == "sequence")
    return value.text() != nullptr || value.list() != nullptr || value.dict() != nullptr;
  if (name == "boolean") return flag != nullptr;
  if (name == "true") return flag != nullptr && *flag;
  if (name == "false") return flag != nullptr && !*flag;
  if (name == "integer") return whole != nullptr;
  if (name == "number") return whole != nullptr || flag != nullptr || value.as<double>() != nullptr;
  return whole != nullptr && (*whole % 2 != 0) == (name == "odd");
}

}  // namespace sluice::text
