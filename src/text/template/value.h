// Values of the template language. Text knows which of its bytes came from a user: such bytes are never
// encoded as control tokens (field report F002), whatever slicing and joining a template does with them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"

namespace sluice::text {

// `marks` has one byte per byte of `chars`: 1 where it came from a user.
struct MarkedText {
  std::string chars;
  std::string marks;

  static MarkedText scaffold(std::string_view text) {
    return {std::string(text), std::string(text.size(), 0)};
  }
  static MarkedText user(std::string_view text) { return {std::string(text), std::string(text.size(), 1)}; }
  MarkedText substr(std::size_t begin, std::size_t count = std::string::npos) const {
    return {chars.substr(begin, count), marks.substr(begin, count)};
  }
  void append(const MarkedText& other) {
    chars += other.chars;
    marks += other.marks;
  }
};

struct Value;
using ValueList = std::vector<Value>;
using ValueDict = std::vector<std::pair<std::string, Value>>;  // in order of insertion

struct Undefined {};
struct None {};
struct Namespace;  // namespace(): the one value that a template can change

struct Value {
  // Lists and dictionaries are shared and never change.
  std::variant<Undefined, None, bool, std::int64_t, double, MarkedText, std::shared_ptr<const ValueList>,
               std::shared_ptr<const ValueDict>, std::shared_ptr<Namespace>>
      data;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
  const MarkedText* text() const { return as<MarkedText>(); }
  const ValueList* list() const {
    const auto* shared = as<std::shared_ptr<const ValueList>>();
    return shared != nullptr ? shared->get() : nullptr;
  }
  const ValueDict* dict() const {
    const auto* shared = as<std::shared_ptr<const ValueDict>>();
    return shared != nullptr ? shared->get() : nullptr;
  }
  Namespace* name_space() const {
    const auto* shared = as<std::shared_ptr<Namespace>>();
    return shared != nullptr ? shared->get() : nullptr;
  }
  bool is_undefined() const { return as<Undefined>() != nullptr; }
  bool is_none() const { return as<None>() != nullptr; }

  static Value scaffold(std::string_view text) { return {MarkedText::scaffold(text)}; }
  static Value make_list(ValueList items) { return {std::make_shared<const ValueList>(std::move(items))}; }
  static Value make_dict(ValueDict items) { return {std::make_shared<const ValueDict>(std::move(items))}; }
  // Strings of a JSON value are the user's.
  static Value from_json(const json::value& value);
};

struct Namespace {
  ValueDict attributes;
};

// Python's rules.
bool is_true(const Value& value);
bool equals(const Value& a, const Value& b);
// Undefined when there is no such key.
Value look_up(const ValueDict& dict, std::string_view key);
void assign(ValueDict& dict, std::string_view key, Value value);

}  // namespace sluice::text
