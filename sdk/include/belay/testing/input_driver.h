// SPDX-License-Identifier: Apache-2.0
// Drives an input plugin without an engine.
//
//   extern "C" const belay_module belay_module_digits;
//   InputDriver input(belay_module_digits, {{"batch_size", 8}, {"epochs", 1}});
//   input.open();
//   while (const auto batch = input.next()) EXPECT_EQ(batch->tensor("image").dim(0), batch->rows());
//   EXPECT_EQ(input.difference_after_resume(100), "");
//
// spec() and open() come first, in this order; open() calls spec() if the test did not. next() checks the contract.
// Every declared tensor is filled, in its declared dtype and shape, all with the same number of rows. The position
// advances, and no batch comes after the end. A violation is an Error of kind FAILED_PRECONDITION, a wrong call on the
// host INVALID_ARGUMENT; both name the tensor. The driver throws an exception of the plugin unchanged.
//
// Another input of the model gets the data of a training's input, as a host passes them:
//
//   InputDriver train(module(), {{"path", "train.csv"}}), eval(module(), {{"path", "eval.csv"}});
//   eval.learn(train.schema(), InputUse::kEvaluation);
//   EXPECT_EQ(eval.difference_from_learned(), "");             // the host can match it, by names
//   EXPECT_EQ(eval.schema().values.at("scale"), ...);          // its kept values
//
// The driver leaves order and numbers as the input has them; a host puts them into the training's.
//
// Batch memory is 64-byte aligned, filled with 0xa5, and freed after next(). So an element that was not written is
// visible, and the address sanitizer finds a later write. A write beyond the end of a tensor is an error.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/testing/call_interrupt.h"
#include "belay/testing/driver_setup.h"
#include "belay/testing/learned_schema.h"
#include "belay/testing/option_values.h"
#include "belay/testing/plugin_library.h"

namespace belay {
inline namespace v0 {
namespace testing {

// A copy of the batch of one next().
class InputBatch {
 public:
  // The input's position after this batch.
  Position position;

  std::int64_t rows() const { return values_.empty() ? 0 : values_[0].dims()[0]; }
  TensorView tensor(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return values_[i].view();
    fail(Code::kNotFound, "the batch has no tensor '" + std::string(name) + "'");
  }
  // The elements of a tensor, row after row.
  template <class T>
  std::vector<T> values(std::string_view name) const {
    const TensorView t = tensor(name);
    const T* data = t.data<const T>();
    return std::vector<T>(data, data + t.size());
  }
  void add(std::string name, Tensor value) {
    names_.push_back(std::move(name));
    values_.push_back(std::move(value));
  }
  // The difference to the other batch, down to the bits; empty: none.
  std::string difference(const InputBatch& other) const {
    if (position.epoch != other.position.epoch || position.index != other.position.index)
      return "position " + text_of(position) + " and " + text_of(other.position);
    if (names_ != other.names_) return "other tensors";
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (!same(values_[i].view(), other.values_[i].view())) return "'" + names_[i] + "' before " + text_of(position);
    return "";
  }
  static std::string text_of(const Position& p) {
    return "{" + std::to_string(p.epoch) + ", " + std::to_string(p.index) + "}";
  }

 private:
  static bool same(const TensorView& a, const TensorView& b) {
    if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
    if (a.dtype() != DType::kString) return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a.text(i) != b.text(i)) return false;
    return true;
  }

  std::vector<std::string> names_;
  std::vector<Tensor> values_;
};

class InputDriver {
 public:
  explicit InputDriver(const belay_module& module, const OptionValues& options = {}, const DriverSetup& setup = {})
      : InputDriver(find_table<belay_input_api>(module, setup.plugin), options, setup) {}
  explicit InputDriver(const belay_input_api* table, const OptionValues& options = {}, const DriverSetup& setup = {})
      : table_(table), options_(options), host_(setup.instance_name) {
    host_.run_directory = setup.run_directory;
    host_.interactive = setup.interactive;
    host_.set_service("input", &kInput);
    for (const std::string& service : setup.without) host_.remove_service(service);
    restart();
  }
  InputDriver(const InputDriver&) = delete;
  InputDriver& operator=(const InputDriver&) = delete;

  // Logs, clock, run directory.
  FakeHost& host() { return host_; }

  // Makes a new instance with the same options, as in a new process.
  void restart() {
    handle_ = options_.create(host_, table_);
    api_ = belay::detail::adopt(table_);
    declared_ = {};
    at_ = {};
    opened_ = ended_ = false;
  }

  // Sets the purpose of the batches; the default is a training. restart() keeps it, and the data of learn().
  void use_for(InputUse use) {
    require_before_spec("use_for");
    use_ = use;
  }
  // Sets the schema of a training that this input has to match.
  void learn(LearnedSchema learned, InputUse use) {
    require_before_spec("learn");
    learned_ = std::move(learned);
    use_ = use;
  }

  const std::vector<DeclaredTensor>& spec() { return schema().tensors; }
  // The declared and kept data of spec.
  const LearnedSchema& schema() {
    if (!declared_.tensors.empty()) return declared_;
    call([&](belay_status* status) {
      return api_.spec(handle_.self(), reinterpret_cast<belay_input_spec*>(this), status);
    });
    if (declared_.tensors.empty()) fail(Code::kFailedPrecondition, "the input declares no tensor");
    return declared_;
  }
  // The reason that a host cannot match this input with the data of learn(); empty: it can.
  std::string difference_from_learned() {
    if (!learned_) fail(Code::kFailedPrecondition, "there is nothing to compare with; call learn first");
    return testing::difference_from_learned(*learned_, schema(), use_);
  }

  void open(std::int64_t shard = 0, std::int64_t shards = 1, std::uint64_t seed = 42) {
    spec();
    open_args_ = {shard, shards, seed};
    call([&](belay_status* status) { return api_.open(handle_.self(), shard, shards, seed, status); });
    opened_ = true;
  }

  // The next batch; empty at the end.
  std::optional<InputBatch> next() {
    if (!opened_) fail(Code::kFailedPrecondition, "next before open");
    slots_.clear();
    slots_.resize(declared_.tensors.size());
    belay::detail::RawPosition position;
    position.raw.epoch = position.raw.index = -1;
    const bool ended_before = ended_;
    call([&](belay_status* status) {
      const std::int32_t code = api_.next(handle_.self(), reinterpret_cast<belay_batch*>(this), &position.raw, status);
      ended_ = code == BELAY_OUT_OF_RANGE;
      return ended_ ? BELAY_OK : code;
    });
    if (ended_) return std::nullopt;
    if (ended_before) fail(Code::kFailedPrecondition, "a batch came after the end");
    const Position now = position.taken();
    if (now.epoch < 0 || now.index < 0) fail(Code::kFailedPrecondition, "next set no position");
    if (now.epoch < at_.epoch || (now.epoch == at_.epoch && now.index <= at_.index))
      fail(Code::kFailedPrecondition,
           "next went from position " + InputBatch::text_of(at_) + " to " + InputBatch::text_of(now));
    at_ = now;
    InputBatch batch;
    batch.position = now;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const std::string& name = declared_.tensors[i].name;
      if (!slots_[i].filled) fail(Code::kFailedPrecondition, "next did not fill '" + name + "'");
      if (slots_[i].dims[0] != slots_[0].dims[0])
        fail(Code::kFailedPrecondition,
             "'" + name + "' has another number of rows than '" + declared_.tensors[0].name + "'");
      if (!slots_[i].ends_whole()) fail(Code::kFailedPrecondition, "next wrote past the end of '" + name + "'");
      batch.add(name, Tensor(TensorView(slots_[i].view())));
      require_classes(declared_.tensors[i], batch.tensor(name));
    }
    if (batch.rows() == 0) fail(Code::kFailedPrecondition, "next delivered a batch of 0 rows; the end is OUT_OF_RANGE");
    slots_.clear();
    return batch;
  }

  void seek(const Position& position) {
    belay::detail::RawPosition raw(position);
    call([&](belay_status* status) { return api_.seek(handle_.self(), &raw.raw, status); });
    at_ = position;
    ended_ = false;
  }

  // Calls the plugin's `interrupt` from the test's thread while no other call is in progress. It must return at once,
  // and after a seek the input must continue. False: it has none.
  bool interrupt() { return call_interrupt(api_, handle_.self()); }

  // The result of size; -1: not known.
  std::int64_t size() {
    std::int64_t examples = -1;
    call([&](belay_status* status) {
      const std::int32_t code = api_.size(handle_.self(), &examples, status);
      return code == BELAY_UNIMPLEMENTED ? BELAY_OK : code;
    });
    return examples;
  }

  // Up to `limit` batches.
  std::vector<InputBatch> batches(std::size_t limit) {
    std::vector<InputBatch> all;
    while (all.size() < limit) {
      auto batch = next();
      if (!batch) break;
      all.push_back(*std::move(batch));
    }
    return all;
  }
  // All batches until the end. An input that continues after `limit` batches is an error.
  std::vector<InputBatch> all_batches(std::size_t limit = 10000) {
    std::vector<InputBatch> all = batches(limit);
    if (all.size() == limit && next())
      fail(Code::kFailedPrecondition, "the input does not end within " + std::to_string(limit) + " batches");
    return all;
  }

  // The three laws of an input. Each opens new instances with the arguments of the last open() and compares at most
  // `limit` batches. It returns the first difference; empty: the law holds. The driver then holds one of these
  // instances.

  // The same seed must make the same batches.
  std::string difference_after_restart(std::size_t limit) {
    reopen();
    const std::vector<InputBatch> first = batches(limit);
    reopen();
    return first_difference(first, batches(limit), "");
  }
  // After a seek to the position of any batch, the following batches must be the same. This is tested in a new
  // instance, and in one that has delivered all other batches.
  std::string difference_after_resume(std::size_t limit) {
    reopen();
    const std::vector<InputBatch> whole = batches(limit);
    for (std::size_t done = 0; done <= whole.size(); ++done) {
      const Position at = done == 0 ? Position{} : whole[done - 1].position;
      const std::vector<InputBatch> rest(whole.begin() + static_cast<std::ptrdiff_t>(done), whole.end());
      seek(at);
      std::string found =
          first_difference(rest, batches(rest.size()), "after seek to " + InputBatch::text_of(at) + ": ");
      if (!found.empty()) return found;
      reopen();
      seek(at);
      found = first_difference(rest, batches(rest.size()), "after resume at " + InputBatch::text_of(at) + ": ");
      if (!found.empty()) return found;
    }
    return "";
  }
  // An ended input must stay ended until a seek.
  std::string difference_after_end(std::size_t limit) {
    reopen();
    const std::vector<InputBatch> whole = all_batches(limit);
    for (int i = 0; i < 3; ++i) next();
    seek({});
    return first_difference(whole, all_batches(limit), "after the end and a seek to the start: ");
  }

 private:
  struct Free {
    void operator()(void* p) const noexcept { std::free(p); }
  };
  // The memory of one tensor of the batch that is being filled.
  struct Slot {
    static constexpr unsigned char kUnwritten = 0xa5;
    static constexpr std::size_t kBehind = 256;
    bool filled = false;
    DType dtype = DType::kInvalid;
    Dims dims;
    std::unique_ptr<unsigned char, Free> bytes;
    std::vector<std::string> texts;
    std::vector<belay_str> views;

    std::size_t count() const {
      std::size_t n = 1;
      for (const std::int64_t d : dims) n *= static_cast<std::size_t>(d);
      return n;
    }
    void allocate() {
      filled = true;
      if (dtype == DType::kString) {
        texts.assign(count(), "");
        views.assign(count(), belay_str{"", 0});
        return;
      }
      bytes.reset(static_cast<unsigned char*>(std::aligned_alloc(64, room())));
      if (bytes == nullptr) fail(Code::kResourceExhausted, "out of memory");
      std::memset(bytes.get(), kUnwritten, room());
    }
    std::size_t room() const { return (count() * dtype_size(dtype) + 63) / 64 * 64 + kBehind; }
    // True if the bytes after the elements are unchanged.
    bool ends_whole() const {
      if (dtype == DType::kString) return true;
      return std::all_of(bytes.get() + count() * dtype_size(dtype), bytes.get() + room(),
                         [](unsigned char c) { return c == kUnwritten; });
    }
    belay_tensor view() {
      void* data = dtype == DType::kString ? static_cast<void*>(views.data()) : bytes.get();
      return belay::detail::raw_tensor(dtype, static_cast<std::int32_t>(dims.size()), dims.data(), data,
                                       count() * dtype_size(dtype));
    }
  };

  // Throws the error of the plugin, or a violation of the contract that no error can report.
  template <class Slot>
  void call(Slot&& slot) {
    const std::size_t breaches_before = host_.breaches().size();
    belay::detail::Status status;
    const std::int32_t code = slot(status);
    const std::vector<std::string> breaches = host_.breaches();
    if (breaches.size() > breaches_before) fail(Code::kFailedPrecondition, breaches[breaches_before]);
    status.check(code);
  }

  void require_before_spec(const char* call) const {
    if (!declared_.tensors.empty())
      fail(Code::kFailedPrecondition, std::string(call) + " after spec; call it on a new driver, or after restart");
  }

  void reopen() {
    const OpenArgs args = open_args_;
    restart();
    open(args.shard, args.shards, args.seed);
  }

  static std::string first_difference(const std::vector<InputBatch>& expected, const std::vector<InputBatch>& found,
                                      std::string when) {
    for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
      const std::string difference = expected[i].difference(found[i]);
      if (!difference.empty()) return when.append("batch " + std::to_string(i) + " differs: " + difference);
    }
    if (expected.size() == found.size()) return "";
    return when.append(std::to_string(found.size()) + " batches instead of " + std::to_string(expected.size()));
  }

  static InputDriver& from(belay_input_spec* spec) { return *reinterpret_cast<InputDriver*>(spec); }

  static std::int32_t declare(belay_input_spec* spec, std::int32_t role, belay_str name, std::int32_t dtype,
                              std::int32_t rank, const std::int64_t* dims, belay_status* status) {
    return belay::detail::guard(status, [&] {
      DeclaredTensor tensor;
      tensor.name = std::string(belay::detail::view(name));
      tensor.dtype = static_cast<DType>(dtype);
      tensor.is_label = role == BELAY_LABEL;
      LearnedSchema& declared = from(spec).declared_;
      if (declared.find(tensor.name) != nullptr) fail(Code::kAlreadyExists, "'" + tensor.name + "' is declared twice");
      if (dtype_size(tensor.dtype) == 0) fail(Code::kInvalidArgument, "'" + tensor.name + "' has no valid dtype");
      if (rank < 1) fail(Code::kInvalidArgument, "'" + tensor.name + "' has no batch dimension");
      tensor.dims.assign(dims, dims + rank);
      declared.tensors.push_back(std::move(tensor));
    });
  }

  static std::int32_t set_classes(belay_input_spec* spec, std::uint32_t slot, std::int64_t classes,
                                  belay_status* status) {
    return belay::detail::guard(status, [&] {
      DeclaredTensor& declared = of_classes(spec, slot, classes);
      if (!declared.class_names.empty()) require_count(declared, classes, declared.class_names.size());
      declared.classes = classes;
    });
  }
  static std::int32_t set_class_names(belay_input_spec* spec, std::uint32_t slot, const belay_str* names,
                                      std::uint64_t count, belay_status* status) {
    return belay::detail::guard(status, [&] {
      DeclaredTensor& declared = of_classes(spec, slot, static_cast<std::int64_t>(count));
      if (declared.classes != 0) require_count(declared, declared.classes, count);
      std::vector<std::string> copies = different(declared, "classes", copied(names, count));
      declared.classes = static_cast<std::int64_t>(count);
      declared.class_names = std::move(copies);
    });
  }
  static void require_classes(const DeclaredTensor& declared, const TensorView& values) {
    if (declared.classes == 0) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = values.number(i);
      if (value < 0 || value >= static_cast<double>(declared.classes))
        fail(Code::kFailedPrecondition, "'" + declared.name + "' has the value " + detail::number_text(value) +
                                            ", and " + std::to_string(declared.classes) + " classes");
    }
  }
  static std::int32_t set_columns(belay_input_spec* spec, std::uint32_t slot, const belay_str* names,
                                  std::uint64_t count, belay_status* status) {
    return belay::detail::guard(status, [&] {
      DeclaredTensor& declared = at_slot(spec, slot);
      if (declared.dims.size() < 2 || declared.dims.back() != static_cast<std::int64_t>(count))
        fail(Code::kInvalidArgument, "'" + declared.name + "' was declared as " + dims_text(declared.dims) +
                                         ", which has no " + std::to_string(count) + " columns");
      declared.columns = different(declared, "columns", copied(names, count));
    });
  }

  static std::int32_t keep_values(belay_input_spec* spec, belay_str name, const double* values, std::uint64_t count,
                                  belay_status* status) {
    return belay::detail::guard(status, [&] {
      LearnedSchema& declared = from(spec).declared_;
      const std::string key = kept_name(name);
      if (count != 0 && values == nullptr) fail(Code::kInvalidArgument, "the values of '" + key + "' are null");
      for (std::uint64_t i = 0; i < count; ++i)
        if (!std::isfinite(values[i]))
          fail(Code::kInvalidArgument, "value " + std::to_string(i) + " of '" + key + "' is not finite");
      declared.words.erase(key);
      declared.values[key].assign(values, values + count);
    });
  }
  static std::int32_t keep_words(belay_input_spec* spec, belay_str name, const belay_str* words, std::uint64_t count,
                                 belay_status* status) {
    return belay::detail::guard(status, [&] {
      LearnedSchema& declared = from(spec).declared_;
      const std::string key = kept_name(name);
      std::vector<std::string> copies = copied(words, count);
      declared.values.erase(key);
      declared.words[key] = std::move(copies);
    });
  }
  static std::string kept_name(belay_str name) {
    if (name.size == 0) fail(Code::kInvalidArgument, "what an input keeps needs a name");
    return std::string(belay::detail::view(name));
  }

  static std::int32_t use(belay_input_spec* spec, std::int32_t* use, std::int32_t* has_learned, belay_status* status) {
    return belay::detail::guard(status, [&] {
      *use = static_cast<std::int32_t>(from(spec).use_);
      *has_learned = from(spec).learned_ ? 1 : 0;
    });
  }
  static std::int32_t learned(belay_input_spec* spec, std::int32_t what, belay_str name, belay_learned* found,
                              belay_status* status) {
    return belay::detail::guard(status, [&] {
      InputDriver& self = from(spec);
      const std::string key(belay::detail::view(name));
      if (what < BELAY_LEARNED_COLUMNS || what > BELAY_LEARNED_WORDS)
        fail(Code::kInvalidArgument, "an input cannot ask for what " + std::to_string(what) + " is; 1 to 4 are known");
      const std::vector<double>* values = what == BELAY_LEARNED_VALUES ? self.learned_values(key) : nullptr;
      const std::vector<std::string>* words = what == BELAY_LEARNED_VALUES ? nullptr : self.learned_words(what, key);
      if (values == nullptr && words == nullptr) fail(Code::kNotFound, "the training has nothing named '" + key + "'");
      found->words = words == nullptr ? nullptr : self.viewed(*words);
      found->values = values == nullptr ? nullptr : values->data();
      found->count = words == nullptr ? values->size() : words->size();
    });
  }
  const std::vector<double>* learned_values(const std::string& name) const {
    if (!learned_) return nullptr;
    const auto at = learned_->values.find(name);
    return at == learned_->values.end() ? nullptr : &at->second;
  }
  const std::vector<std::string>* learned_words(std::int32_t what, const std::string& name) const {
    if (!learned_) return nullptr;
    if (what == BELAY_LEARNED_WORDS) {
      const auto at = learned_->words.find(name);
      return at == learned_->words.end() ? nullptr : &at->second;
    }
    const DeclaredTensor* tensor = learned_->find(name);
    if (tensor == nullptr) return nullptr;
    const std::vector<std::string>& names = what == BELAY_LEARNED_COLUMNS ? tensor->columns : tensor->class_names;
    return names.empty() ? nullptr : &names;
  }
  const belay_str* viewed(const std::vector<std::string>& words) {
    std::vector<belay_str> views;
    for (const std::string& word : words) views.push_back(belay::detail::str(word));
    views_ = std::move(views);
    return views_.data();
  }

  static std::vector<std::string> copied(const belay_str* names, std::uint64_t count) {
    if (count != 0 && names == nullptr) fail(Code::kInvalidArgument, "the names are null");
    std::vector<std::string> copies;
    for (std::uint64_t i = 0; i < count; ++i) copies.emplace_back(belay::detail::view(names[i]));
    return copies;
  }
  // Returns the names. Fails if two are equal.
  static std::vector<std::string> different(const DeclaredTensor& declared, const char* what,
                                            std::vector<std::string> names) {
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      fail(Code::kInvalidArgument, "'" + declared.name + "' has two " + what + " of the name '" + *twice + "'");
    return names;
  }
  static DeclaredTensor& at_slot(belay_input_spec* spec, std::uint32_t slot) {
    std::vector<DeclaredTensor>& declared = from(spec).declared_.tensors;
    if (slot >= declared.size())
      fail(Code::kInvalidArgument, "there is no slot " + std::to_string(slot) + "; the input declared " +
                                       std::to_string(declared.size()) + " tensors");
    return declared[slot];
  }
  static DeclaredTensor& of_classes(belay_input_spec* spec, std::uint32_t slot, std::int64_t classes) {
    DeclaredTensor& declared = at_slot(spec, slot);
    const DType t = declared.dtype;
    if (classes < 1 || (t != DType::kInt32 && t != DType::kInt64 && t != DType::kUInt8))
      fail(Code::kInvalidArgument, "'" + declared.name + "' (" + dtype_name(t) + ") cannot have " +
                                       std::to_string(classes) + " classes; at least 1, of an integer");
    return declared;
  }
  static void require_count(const DeclaredTensor& declared, std::int64_t classes, std::size_t names) {
    if (static_cast<std::uint64_t>(classes) != names)
      fail(Code::kInvalidArgument, "'" + declared.name + "' has " + std::to_string(classes) + " classes and " +
                                       std::to_string(names) + " class names");
  }

  static std::int32_t tensor(belay_batch* batch, std::uint32_t slot, std::int32_t rank, const std::int64_t* dims,
                             belay_tensor* tensor, belay_status* status) {
    return belay::detail::guard(status, [&] {
      InputDriver& self = *reinterpret_cast<InputDriver*>(batch);
      self.host_.require_thread("input.tensor");
      if (slot >= self.slots_.size())
        fail(Code::kInvalidArgument, "there is no slot " + std::to_string(slot) + "; the input declared " +
                                         std::to_string(self.slots_.size()) + " tensors");
      const DeclaredTensor& declared = self.declared_.tensors[slot];
      const Dims given(dims, dims + rank);
      bool fits = given.size() == declared.dims.size();
      for (std::size_t i = 0; fits && i < given.size(); ++i)
        fits = given[i] >= 0 && (declared.dims[i] < 0 || declared.dims[i] == given[i]);
      if (!fits)
        fail(Code::kInvalidArgument, "'" + declared.name + "' was declared as " + dims_text(declared.dims) +
                                         ", the batch has " + dims_text(given));
      Slot& s = self.slots_[slot];
      if (s.filled) fail(Code::kFailedPrecondition, "'" + declared.name + "' was asked for twice");
      s.dtype = declared.dtype;
      s.dims = given;
      s.allocate();
      *tensor = s.view();
    });
  }

  static std::int32_t set_string(belay_batch* batch, std::uint32_t slot, std::uint64_t element, belay_str bytes,
                                 belay_status* status) {
    return belay::detail::guard(status, [&] {
      InputDriver& self = *reinterpret_cast<InputDriver*>(batch);
      self.host_.require_thread("input.set_string");
      if (slot >= self.slots_.size() || element >= self.slots_[slot].texts.size())
        fail(Code::kInvalidArgument,
             "there is no string element " + std::to_string(element) + " in slot " + std::to_string(slot));
      Slot& s = self.slots_[slot];
      const auto i = static_cast<std::size_t>(element);
      s.texts[i] = std::string(belay::detail::view(bytes));
      s.views[i] = belay::detail::str(s.texts[i]);
    });
  }

  static constexpr belay_input_service kInput{sizeof(belay_input_service),
                                              0,
                                              &InputDriver::declare,
                                              &InputDriver::tensor,
                                              &InputDriver::set_string,
                                              &InputDriver::set_classes,
                                              &InputDriver::set_class_names,
                                              &InputDriver::set_columns,
                                              &InputDriver::keep_values,
                                              &InputDriver::keep_words,
                                              &InputDriver::use,
                                              &InputDriver::learned};

  const belay_input_api* table_;
  OptionValues options_;
  FakeHost host_;
  InputHandle handle_;
  belay_input_api api_{};
  InputUse use_ = InputUse::kTraining;
  std::optional<LearnedSchema> learned_;
  std::vector<belay_str> views_;  // those of the last request
  LearnedSchema declared_;
  std::vector<Slot> slots_;
  OpenArgs open_args_;
  Position at_;
  bool opened_ = false, ended_ = false;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
