#include "text/template/value.h"

#include <algorithm>

namespace sluice::text {

Value Value::from_json(const json::value& value) {
  if (value.is_null()) return {None{}};
  if (value.is_bool()) return {value.get_bool()};
  if (value.is_int64()) return {value.get_int64()};
  if (value.is_uint64()) return {static_cast<double>(value.get_uint64())};
  if (value.is_double()) return {value.get_double()};
  if (value.is_string()) return {MarkedText::user(value.get_string())};
  if (value.is_array()) {
    ValueList items;
    for (const json::value& item : value.get_array()) items.push_back(from_json(item));
    return make_list(std::move(items));
  }
  ValueDict items;
  for (const auto& [key, item] : value.get_object()) items.emplace_back(std::string(key), from_json(item));
  return make_dict(std::move(items));
}

bool is_true(const Value& value) {
  if (const auto* flag = value.as<bool>()) return *flag;
  if (const auto* number = value.as<std::int64_t>()) return *number != 0;
  if (const auto* number = value.as<double>()) return *number != 0;
  if (const auto* text = value.text()) return !text->chars.empty();
  if (const auto* list = value.list()) return !list->empty();
  if (const auto* dict = value.dict()) return !dict->empty();
  return value.name_space() != nullptr;
}

namespace {

bool to_double(const Value& value, double& out) {
  if (const auto* flag = value.as<bool>())
    out = *flag ? 1 : 0;
  else if (const auto* whole = value.as<std::int64_t>())
    out = static_cast<double>(*whole);
  else if (const auto* number = value.as<double>())
    out = *number;
  else
    return false;
  return true;
}

}  // namespace

namespace {

// Whatever their order.
bool equal_dicts(const ValueDict& a, const ValueDict& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a) {
    const auto found = std::ranges::find(b, key, &ValueDict::value_type::first);
    if (found == b.end() || !equals(value, found->second)) return false;
  }
  return true;
}

}  // namespace

bool equals(const Value& a, const Value& b) {
  double x = 0;
  double y = 0;
  if (to_double(a, x) && to_double(b, y)) return x == y;
  if (a.text() != nullptr && b.text() != nullptr) return a.text()->chars == b.text()->chars;
  if (a.list() != nullptr && b.list() != nullptr) {
    if (a.list()->size() != b.list()->size()) return false;
    for (std::size_t i = 0; i < a.list()->size(); ++i)
      if (!equals((*a.list())[i], (*b.list())[i])) return false;
    return true;
  }
  if (a.dict() != nullptr && b.dict() != nullptr) return equal_dicts(*a.dict(), *b.dict());
  if (a.name_space() != nullptr) return a.name_space() == b.name_space();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

Value look_up(const ValueDict& dict, std::string_view key) {
  for (const auto& [name, value] : dict)
    if (name == key) return value;
  return {};
}

void assign(ValueDict& dict, std::string_view key, Value value) {
  for (auto& [name, old] : dict) {
    if (name != key) continue;
    old = std::move(value);
    return;
  }
  dict.emplace_back(std::string(key), std::move(value));
}

}  // namespace sluice::text
