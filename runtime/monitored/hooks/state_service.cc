// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/hooks/state_service.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/format/tensor_bytes.h"
#include "runtime/platform/memory/checked_slot.h"
#include "runtime/platform/memory/guarded_memory.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string named(std::string_view key) { return "state " + single_quoted(key); }

StateValue copied(const belay_value& value) {
  detail::check_value("the value", value);
  const auto n = static_cast<std::size_t>(value.count);
  const auto* ints = static_cast<const std::int64_t*>(value.data);
  const auto* floats = static_cast<const double*>(value.data);
  const auto* texts = static_cast<const belay_str*>(value.data);
  switch (value.type) {
    case BELAY_VALUE_BOOL: return ints[0] != 0;
    case BELAY_VALUE_INT: return ints[0];
    case BELAY_VALUE_FLOAT: return floats[0];
    case BELAY_VALUE_TEXT: return std::string(detail::view(texts[0]));
    case BELAY_VALUE_INT | BELAY_VALUE_LIST: return std::vector<std::int64_t>(ints, ints + n);
    case BELAY_VALUE_FLOAT | BELAY_VALUE_LIST: return std::vector<double>(floats, floats + n);
    case BELAY_VALUE_TEXT | BELAY_VALUE_LIST: {
      std::vector<std::string> list;
      for (std::size_t i = 0; i < n; ++i) list.emplace_back(detail::view(texts[i]));
      return list;
    }
    case BELAY_VALUE_TENSOR:
      fail(Code::kInvalidArgument, "[B5081] a tensor is not put: ask for its memory with `tensor` and fill it");
    default:
      fail(Code::kInvalidArgument, fmt::format("[B5081] a hook's state cannot hold values of type {}", value.type));
  }
}

void check_form(std::string_view key, DType dtype, std::int32_t rank, const std::int64_t* dims) {
  if (dtype == DType::kString)
    fail(Code::kInvalidArgument,
         fmt::format("[B5081] {} is to be a tensor of strings, which is not kept: put a list of strings", named(key)));
  if (dtype_size(dtype) == 0)
    fail(Code::kInvalidArgument,
         fmt::format("[B5081] {} is to have the unknown dtype {}", named(key), static_cast<std::int32_t>(dtype)));
  if (rank < 0 || rank > detail::kMaxRank || (rank > 0 && dims == nullptr))
    fail(Code::kInvalidArgument, fmt::format("[B5081] {} is to have rank {}{}", named(key), rank,
                                             rank > 0 && dims == nullptr ? ", without dimensions (dims is null)" : ""));
  if (!byte_size(dtype, dims, rank))
    fail(Code::kInvalidArgument,
         fmt::format("[B5081] {} has no size: {} {}", named(key), dtype_name(dtype), dims_text(dims, rank)));
}

bool has_form(const StateTensor& t, DType dtype, std::int32_t rank, const std::int64_t* dims) {
  return t.dtype == dtype && std::equal(t.dims.begin(), t.dims.end(), dims, dims + rank);
}

belay_tensor raw(const StateTensor& t, const void* elements, std::uint32_t flags) {
  return detail::raw_tensor(t.dtype, static_cast<std::int32_t>(t.dims.size()), t.dims.data(),
                            const_cast<void*>(elements), static_cast<std::size_t>(byte_size(t)), flags);
}

}  // namespace

void HookStateAccess::require_saving(const char* slot) const {
  if (!saving())
    fail(Code::kFailedPrecondition,
         std::string("[B5081] a hook's state is written in save_state; `") + slot + "` was called in load_state");
}

void HookStateAccess::take_room(std::string_view key, const StateValue& value, const StateValue* replaced) {
  const StateCost more = cost_of(key, value), less = replaced == nullptr ? StateCost() : cost_of(key, *replaced);
  const StateCost sum{total_->bytes + more.bytes - less.bytes, total_->values + more.values - less.values};
  const auto refuse = [&](std::uint64_t found, const char* what, std::uint64_t limit) {
    fail(Code::kResourceExhausted, fmt::format("[B5081] with {} the values of all hooks' states have {} {}, at most {} "
                                               "are kept; keep what is large in a tensor (StateWriter::tensor)",
                                               named(key), found, what, limit));
  };
  if (sum.bytes > kMaxHookStateBytes) refuse(sum.bytes, "bytes as JSON", kMaxHookStateBytes);
  if (sum.values > kMaxHookStateValues) refuse(sum.values, "numbers, strings and keys", kMaxHookStateValues);
  *total_ = sum;
}

void HookStateAccess::put(std::string_view key, const belay_value& value) {
  require_saving("put");
  StateValue v = copied(value);
  const auto at = written_.entries.find(key);
  const bool known = at != written_.entries.end();
  if (!known) check_state_key(key);
  if (known && std::holds_alternative<StateTensor>(at->second))
    fail(Code::kInvalidArgument,
         fmt::format("[B5081] {} has a tensor in this save; a key has one of the two", named(key)));
  take_room(key, v, known ? &at->second : nullptr);
  if (known) {
    at->second = std::move(v);
  } else {
    written_.entries.emplace(key, std::move(v));
  }
}

belay_value HookStateAccess::get(std::string_view key) {
  const auto it = state().entries.find(key);
  if (it == state().entries.end()) fail(Code::kNotFound, "[B5081] the stored state has no " + single_quoted(key));
  const StateValue& v = it->second;
  if (const auto* t = std::get_if<StateTensor>(&v)) return given_tensor(*t);
  if (const auto* i = std::get_if<std::int64_t>(&v)) return {BELAY_VALUE_INT, 0, 1, i};
  if (const auto* d = std::get_if<double>(&v)) return {BELAY_VALUE_FLOAT, 0, 1, d};
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&v))
    return {BELAY_VALUE_INT | BELAY_VALUE_LIST, 0, ints->size(), ints->data()};
  if (const auto* floats = std::get_if<std::vector<double>>(&v))
    return {BELAY_VALUE_FLOAT | BELAY_VALUE_LIST, 0, floats->size(), floats->data()};
  Given& given = given_.emplace_back();
  if (const auto* b = std::get_if<bool>(&v)) {
    given.flag = *b ? 1 : 0;
    return {BELAY_VALUE_BOOL, 0, 1, &given.flag};
  }
  if (const auto* s = std::get_if<std::string>(&v)) {
    given.texts = {detail::str(*s)};
    return {BELAY_VALUE_TEXT, 0, 1, given.texts.data()};
  }
  for (const std::string& t : std::get<std::vector<std::string>>(v)) given.texts.push_back(detail::str(t));
  return {BELAY_VALUE_TEXT | BELAY_VALUE_LIST, 0, given.texts.size(), given.texts.data()};
}

// A tensor is read once, however often it is asked for.
belay_value HookStateAccess::given_tensor(const StateTensor& tensor) {
  const auto before = std::find_if(given_.begin(), given_.end(), [&](const Given& g) { return g.of == &tensor; });
  if (before != given_.end()) return {BELAY_VALUE_TENSOR, 0, 1, &before->tensor};
  Given given;
  given.of = &tensor;
  given.elements = elements_of(tensor);
  given.tensor = raw(tensor, given.elements.get(), BELAY_TENSOR_READ_ONLY);
  given_.push_back(std::move(given));
  return {BELAY_VALUE_TENSOR, 0, 1, &given_.back().tensor};
}

const StateTensor& HookStateAccess::tensor(std::string_view key, DType dtype, std::int32_t rank,
                                           const std::int64_t* dims) {
  require_saving("tensor");
  check_form(key, dtype, rank, dims);
  const auto at = written_.entries.find(key);
  if (at == written_.entries.end()) return new_tensor(key, dtype, rank, dims);
  const auto* known = std::get_if<StateTensor>(&at->second);
  if (known == nullptr)
    fail(Code::kInvalidArgument,
         fmt::format("[B5081] {} has a value in this save; a key has one of the two", named(key)));
  if (!has_form(*known, dtype, rank, dims))
    fail(Code::kInvalidArgument,
         fmt::format("[B5081] {} is {} {} in this save, and is asked for as {} {}", named(key),
                     dtype_name(known->dtype), dims_text(known->dims), dtype_name(dtype), dims_text(dims, rank)));
  return *known;
}

// It moves the entry and the memory of the last save unchanged, so nothing is allocated.
const StateTensor& HookStateAccess::new_tensor(std::string_view key, DType dtype, std::int32_t rank,
                                               const std::int64_t* dims) {
  const auto before = before_.entries.find(key);
  if (before != before_.entries.end()) {
    const auto* kept = std::get_if<StateTensor>(&before->second);
    if (kept != nullptr && has_form(*kept, dtype, rank, dims) && kept->memory.use_count() <= 1) {
      take_room(key, before->second, nullptr);
      return std::get<StateTensor>(written_.entries.insert(before_.entries.extract(before)).position->second);
    }
    before_.entries.erase(before);  // before its successor is allocated
  }
  check_state_key(key);
  StateValue made = allocated(dtype, Dims(dims, dims + rank));
  take_room(key, made, nullptr);
  return std::get<StateTensor>(written_.entries.emplace(key, std::move(made)).first->second);
}

void HookStateAccess::check_guards() const {
  for (const auto& [key, value] : written_.entries) {
    const auto* tensor = std::get_if<StateTensor>(&value);
    if (tensor != nullptr && tensor->memory != nullptr && !guards_hold(tensor->memory.get(), byte_size(*tensor)))
      fail_outside(named(key), tensor->memory.get(), byte_size(*tensor));
  }
}

belay_str HookStateAccess::key(std::uint64_t i) {
  const auto& entries = state().entries;
  if (i >= entries.size())
    fail(Code::kInvalidArgument, fmt::format("[B5081] the state has {} keys, there is no key {}", entries.size(), i));
  if (keys_.size() != entries.size()) {
    keys_.clear();
    for (const auto& entry : entries) keys_.push_back(detail::str(entry.first));
  }
  return keys_[static_cast<std::size_t>(i)];
}

struct StateService {
  static HookStateAccess& from(belay_state* s) noexcept { return *reinterpret_cast<HookStateAccess*>(s); }

  static std::int32_t put(belay_state* state, belay_str key, const belay_value* value, belay_status* status) {
    return detail::guard(status, [&] {
      if (value == nullptr)
        fail(Code::kInvalidArgument, fmt::format("[B5081] {} has no value (it is null)", named(detail::view(key))));
      from(state).put(detail::view(key), *value);
    });
  }
  static std::int32_t get(belay_state* state, belay_str key, belay_value* value, belay_status* status) {
    return detail::guard(status, [&] { *value = from(state).get(detail::view(key)); });
  }
  static std::int32_t tensor(belay_state* state, belay_str key, std::int32_t dtype, std::int32_t rank,
                             const std::int64_t* dims, belay_tensor* out, belay_status* status) {
    return detail::guard(status, [&] {
      const StateTensor& t = from(state).tensor(detail::view(key), static_cast<DType>(dtype), rank, dims);
      *out = raw(t, t.memory.get(), 0);
    });
  }
  static std::uint64_t count(belay_state* state) { return from(state).state().entries.size(); }
  static std::int32_t key(belay_state* state, std::uint64_t i, belay_str* key, belay_status* status) {
    return detail::guard(status, [&] { *key = from(state).key(i); });
  }
  static std::int32_t written_by(belay_state* state, belay_str* version, belay_status* status) {
    return detail::guard(status, [&] { *version = detail::str(from(state).state().written_by); });
  }

  static constexpr belay_state_service kTable{sizeof(belay_state_service),
                                              0,
                                              checked<put, detail::name_of_state_put>,
                                              checked<get, detail::name_of_state_get>,
                                              checked<tensor, detail::name_of_state_tensor>,
                                              checked<count, detail::name_of_state_count>,
                                              checked<key, detail::name_of_state_key>,
                                              checked<written_by, detail::name_of_state_written_by>};
};

const belay_state_service* state_service() noexcept { return &StateService::kTable; }

}  // namespace belay::runtime
