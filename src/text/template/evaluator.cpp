#include "text/template/evaluator.h"

#include <algorithm>

#include "text/template/builtins.h"
#include "text/template/parser.h"

namespace sluice::text {
namespace {

using Kind = Expression::Kind;

class Evaluator {
 public:
  explicit Evaluator(ValueDict globals) { scopes_.push_back(std::move(globals)); }

  // A namespace may hold itself: emptied, none keeps another alive, and none is destroyed inside another.
  ~Evaluator() {
    for (const auto& name_space : namespaces_) name_space->attributes.clear();
  }
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  Result<MarkedText> run(const NodeList& nodes) {
    SLUICE_TRY_STATUS(run_nodes(nodes));
    return std::move(output_);
  }

 private:
  Status count_step(int line) {
    if (++steps_ <= kStepsMax && output_.chars.size() <= kOutputBytesMax && work_bytes_ <= kWorkBytesMax)
      return {};
    return fail(ErrorCode::kInvalidArgument,
                "chat template, line {}: more than {} steps, {} bytes of output or {} bytes of values", line,
                kStepsMax, kOutputBytesMax, kWorkBytesMax);
  }

  // A made value: its bytes count as work.
  Result<Value> made(Result<Value> value, int line) {
    if (value && value->text() != nullptr) work_bytes_ += 2 * value->text()->chars.size();
    if (value && value->list() != nullptr) work_bytes_ += value->list()->size() * sizeof(Value);
    return at_line(std::move(value), line);
  }

  // A made list or mapping: bounded in depth, or what walks it later would need an unbounded stack. What is
  // shared is walked each time it is met, so steps bound that too.
  Status check_depth(const Value& value, int line, int depth = 0) {
    if (depth > kValueDepthMax) {
      return fail(ErrorCode::kInvalidArgument, "chat template, line {}: values nested deeper than {}", line,
                  kValueDepthMax);
    }
    if (value.list() == nullptr && value.dict() == nullptr) return {};
    SLUICE_TRY_STATUS(count_step(line));
    if (const ValueList* list = value.list()) {
      for (const Value& item : *list) SLUICE_TRY_STATUS(check_depth(item, line, depth + 1));
      return {};
    }
    for (const auto& [key, item] : *value.dict()) SLUICE_TRY_STATUS(check_depth(item, line, depth + 1));
    return {};
  }

  template <typename T>
  Result<T> at_line(Result<T> result, int line) const {
    if (!result && !result.error().message.starts_with("chat template")) {
      return fail(result.error().code, "chat template, line {}: {}", line, result.error().message);
    }
    return result;
  }

  Status run_nodes(const NodeList& nodes) {
    for (const auto& node : nodes) {
      SLUICE_TRY_STATUS(count_step(node->line));
      SLUICE_TRY_STATUS(run_node(*node));
    }
    return {};
  }

  Status run_node(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kText:
        output_.append(MarkedText::scaffold(node.text));
        return {};
      case Node::Kind::kOutput: {
        SLUICE_TRY(const Value value, evaluate(*node.expression));
        SLUICE_TRY(const MarkedText text, at_line(to_text(value), node.line));
        output_.append(text);
        return {};
      }
      case Node::Kind::kIf: {
        SLUICE_TRY(const Value condition, evaluate(*node.expression));
        return run_nodes(is_true(condition) ? node.body : node.otherwise);
      }
      case Node::Kind::kSet:
        return run_set(node);
      case Node::Kind::kFor:
        return run_for(node);
    }
    return {};
  }

  Status run_set(const Node& node) {
    SLUICE_TRY(Value value, evaluate(*node.expression));
    if (node.text.empty()) {
      assign(scopes_.back(), node.targets[0], std::move(value));
      return {};
    }
    Namespace* name_space = find(node.targets[0]).name_space();
    if (name_space == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "chat template, line {}: {} is not a namespace", node.line,
                  node.targets[0]);
    }
    assign(name_space->attributes, node.text, std::move(value));
    return {};
  }

  Status run_for(const Node& node) {
    SLUICE_TRY(const Value iterable, evaluate(*node.expression));
    ValueList items;
    if (iterable.list() != nullptr)
      items = *iterable.list();
    else if (iterable.dict() != nullptr)
      for (const auto& [key, value] : *iterable.dict()) items.push_back({MarkedText::user(key)});
    else if (!iterable.is_undefined())
      return fail(ErrorCode::kInvalidArgument, "chat template, line {}: cannot loop over this value",
                  node.line);
    if (node.filter) {
      ValueList kept;
      for (const Value& item : items) {
        SLUICE_TRY_STATUS(open_scope(node, item));
        const auto keeps = evaluate(*node.filter);
        scopes_.pop_back();
        if (!keeps) return tl::unexpected(keeps.error());
        if (is_true(*keeps)) kept.push_back(item);
      }
      items = std::move(kept);
    }
    if (items.empty()) return run_nodes(node.otherwise);
    for (std::size_t i = 0; i < items.size(); ++i) {
      SLUICE_TRY_STATUS(open_scope(node, items[i]));
      assign(scopes_.back(), "loop", loop_value(items, i));
      const Status done = run_nodes(node.body);
      scopes_.pop_back();
      SLUICE_TRY_STATUS(done);
    }
    return {};
  }

  Status open_scope(const Node& node, const Value& item) {
    scopes_.emplace_back();
    if (node.targets.size() == 1) {
      assign(scopes_.back(), node.targets[0], item);
      return {};
    }
    if (item.list() == nullptr || item.list()->size() != node.targets.size()) {
      scopes_.pop_back();
      return fail(ErrorCode::kInvalidArgument, "chat template, line {}: cannot unpack into {} names",
                  node.line, node.targets.size());
    }
    for (std::size_t i = 0; i < node.targets.size(); ++i)
      assign(scopes_.back(), node.targets[i], (*item.list())[i]);
    return {};
  }

  static Value loop_value(const ValueList& items, std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto count = static_cast<std::int64_t>(items.size());
    return Value::make_dict({{"index", {at + 1}},
                             {"index0", {at}},
                             {"revindex", {count - at}},
                             {"revindex0", {count - at - 1}},
                             {"first", {i == 0}},
                             {"last", {i + 1 == items.size()}},
                             {"length", {count}},
                             {"previtem", i > 0 ? items[i - 1] : Value{}},
                             {"nextitem", i + 1 < items.size() ? items[i + 1] : Value{}}});
  }

  Value find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      Value value = look_up(*scope, name);
      if (!value.is_undefined()) return value;
    }
    return {};
  }

  Result<Value> evaluate(const Expression& e) {
    SLUICE_TRY_STATUS(count_step(e.line));
    switch (e.kind) {
      case Kind::kLiteral:
        return e.value;
      case Kind::kName:
        return find(e.text);
      case Kind::kList: {
        SLUICE_TRY(ValueList items, evaluate_all(e.items));
        const Value list = Value::make_list(std::move(items));
        SLUICE_TRY_STATUS(check_depth(list, e.line));
        return made(list, e.line);
      }
      case Kind::kDict:
        return evaluate_dict(e);
      case Kind::kNot: {
        SLUICE_TRY(const Value value, evaluate(*e.a));
        return Value{!is_true(value)};
      }
      case Kind::kNegate: {
        SLUICE_TRY(const Value value, evaluate(*e.a));
        return made(apply_operator("-", Value{std::int64_t{0}}, value), e.line);
      }
      case Kind::kBinary:
        return evaluate_binary(e);
      case Kind::kCondition: {
        SLUICE_TRY(const Value condition, evaluate(*e.b));
        if (is_true(condition)) return evaluate(*e.a);
        return e.c ? evaluate(*e.c) : Result<Value>(Value{});
      }
      default:
        return evaluate_postfix(e);
    }
  }

  Result<Value> evaluate_postfix(const Expression& e) {
    if (e.kind == Kind::kCall) return call(e);
    SLUICE_TRY(const Value value, evaluate(*e.a));
    if (e.kind == Kind::kMember) return at_line(member(value, e.text), e.line);
    if (e.kind == Kind::kTest) return Value{passes_test(e.text, value) != e.negated};
    if (e.kind == Kind::kSlice) return made(slice(e, value), e.line);
    if (e.kind == Kind::kIndex) {
      SLUICE_TRY(const Value index, evaluate(*e.b));
      return at_line(subscript(value, index), e.line);
    }
    SLUICE_TRY(const ValueList arguments, evaluate_all(e.items));
    if (e.kind == Kind::kMethod) return made(call_method(e.text, value, arguments), e.line);
    NamedValues named;
    for (const auto& [name, expression] : e.named) {
      SLUICE_TRY(Value option, evaluate(*expression));
      named.emplace_back(name, std::move(option));
    }
    return made(apply_filter(e.text, value, arguments, named), e.line);
  }

  Result<ValueList> evaluate_all(const std::vector<ExpressionPtr>& expressions) {
    ValueList values;
    for (const ExpressionPtr& expression : expressions) {
      SLUICE_TRY(Value value, evaluate(*expression));
      values.push_back(std::move(value));
    }
    return values;
  }

  Result<Value> evaluate_dict(const Expression& e) {
    SLUICE_TRY(const ValueList flat, evaluate_all(e.items));
    ValueDict dict;
    for (std::size_t i = 0; i + 1 < flat.size(); i += 2) {
      SLUICE_TRY(const MarkedText key, at_line(to_text(flat[i]), e.line));
      assign(dict, key.chars, flat[i + 1]);
    }
    Value value = Value::make_dict(std::move(dict));
    SLUICE_TRY_STATUS(check_depth(value, e.line));
    return value;
  }

  Result<Value> evaluate_binary(const Expression& e) {
    SLUICE_TRY(Value left, evaluate(*e.a));
    if (e.text == "and" && !is_true(left)) return left;
    if (e.text == "or" && is_true(left)) return left;
    SLUICE_TRY(Value right, evaluate(*e.b));
    if (e.text == "and" || e.text == "or") return right;
    return made(apply_operator(e.text, left, right), e.line);
  }

  static Result<Value> member(const Value& value, const std::string& name) {
    if (value.dict() != nullptr) return look_up(*value.dict(), name);
    if (value.name_space() != nullptr) return look_up(value.name_space()->attributes, name);
    if (value.is_undefined()) return fail(ErrorCode::kInvalidArgument, "\"{}\" of an undefined value", name);
    return Value{};
  }

  static Result<Value> subscript(const Value& value, const Value& index) {
    if (index.text() != nullptr) return member(value, index.text()->chars);
    const auto* whole = index.as<std::int64_t>();
    if (whole == nullptr || value.list() == nullptr)
      return fail(ErrorCode::kInvalidArgument, "this value cannot be indexed so");
    const auto size = static_cast<std::int64_t>(value.list()->size());
    const std::int64_t at = *whole < 0 ? *whole + size : *whole;
    return at >= 0 && at < size ? (*value.list())[static_cast<std::size_t>(at)] : Value{};
  }

  // Python's slice of a list, or of a text by bytes when it is ASCII.
  Result<Value> slice(const Expression& e, const Value& value) {
    std::int64_t bounds[3] = {0, 0, 1};
    bool given[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!e.items[i]) continue;
      SLUICE_TRY(const Value bound, evaluate(*e.items[i]));
      const auto* whole = bound.as<std::int64_t>();
      if (whole == nullptr)
        return fail(ErrorCode::kInvalidArgument, "chat template, line {}: slice bound is not a number",
                    e.line);
      bounds[i] = *whole;
      given[i] = true;
    }
    const MarkedText* text = value.text();
    const bool is_ascii =
        text != nullptr && std::ranges::all_of(text->chars, [](char c) { return (c & 0x80) == 0; });
    if (value.list() == nullptr && !is_ascii) {
      return fail(ErrorCode::kInvalidArgument, "chat template, line {}: this value cannot be sliced", e.line);
    }
    const auto size = static_cast<std::int64_t>(text != nullptr ? text->chars.size() : value.list()->size());
    const std::int64_t step = std::clamp(bounds[2], -size - 1, size + 1);  // no farther than the whole
    if (step == 0)
      return fail(ErrorCode::kInvalidArgument, "chat template, line {}: slice step is zero", e.line);
    const auto place = [&](std::size_t i, std::int64_t otherwise) {
      if (!given[i]) return otherwise;
      const std::int64_t at = bounds[i] < 0 ? bounds[i] + size : bounds[i];
      return std::clamp<std::int64_t>(at, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
    };
    const std::int64_t begin = place(0, step > 0 ? 0 : size - 1);
    const std::int64_t end = place(1, step > 0 ? size : -1);
    ValueList items;
    MarkedText part;
    for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
      if (text != nullptr)
        part.append(text->substr(static_cast<std::size_t>(i), 1));
      else
        items.push_back((*value.list())[static_cast<std::size_t>(i)]);
    }
    return text != nullptr ? Value{std::move(part)} : Value::make_list(std::move(items));
  }

  Result<Value> call(const Expression& e) {
    SLUICE_TRY(const ValueList arguments, evaluate_all(e.items));
    if (e.text == "namespace") {
      auto name_space = std::make_shared<Namespace>();
      for (const auto& [name, expression] : e.named) {
        SLUICE_TRY(Value value, evaluate(*expression));
        assign(name_space->attributes, name, std::move(value));
      }
      namespaces_.push_back(name_space);
      return Value{std::move(name_space)};
    }
    if (e.text == "raise_exception") {
      const bool has_text = !arguments.empty() && arguments[0].text() != nullptr;
      return fail(ErrorCode::kInvalidArgument, "chat template: {}",
                  has_text ? arguments[0].text()->chars : "refused");
    }
    return range(e, arguments);
  }

  Result<Value> range(const Expression& e, const ValueList& arguments) {
    std::int64_t bounds[3] = {0, 0, 1};
    for (std::size_t i = 0; i < arguments.size() && i < 3; ++i) {
      const auto* whole = arguments[i].as<std::int64_t>();
      if (whole == nullptr)
        return fail(ErrorCode::kInvalidArgument, "chat template, line {}: range of no number", e.line);
      bounds[i] = *whole;
    }
    if (arguments.size() == 1) std::swap(bounds[0], bounds[1]);
    if (arguments.empty() || bounds[2] == 0)
      return fail(ErrorCode::kInvalidArgument, "chat template, line {}: bad range", e.line);
    ValueList items;
    for (std::int64_t i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1];) {
      SLUICE_TRY_STATUS(count_step(e.line));
      items.push_back({i});
      if (__builtin_add_overflow(i, bounds[2], &i)) break;
    }
    return made(Value::make_list(std::move(items)), e.line);
  }

  std::vector<ValueDict> scopes_;
  MarkedText output_;
  std::size_t steps_ = 0;
  std::size_t work_bytes_ = 0;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
};

}  // namespace

Result<MarkedText> evaluate_template(const NodeList& nodes, ValueDict globals) {
  return Evaluator(std::move(globals)).run(nodes);
}

}  // namespace sluice::text
