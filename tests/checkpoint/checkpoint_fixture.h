// SPDX-License-Identifier: Apache-2.0
// The tests of checkpoints share these: a log that is kept, variables whose values follow from the step, the real
// safetensors saver, and savers that misbehave as asked.
#pragma once

#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/testing/error_of.h"
#include "belay/testing/fake_host.h"
#include "belay/testing/plugin_library.h"
#include "runtime/checkpoint/format/content.h"
#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/checkpoint/read/saver_directory.h"
#include "runtime/platform/log/logger.h"
#include "tests/platform/fake_clock.h"
#include "tests/platform/temp_dir.h"

extern "C" const belay_module belay_module_safetensors;

namespace belay::runtime {

using belay::testing::error_of;  // empty where nothing was thrown

class RecordingLogger final : public Logger {
 public:
  void log(LogLevel level, std::string_view source, std::string_view text) override {
    const char* name = level >= LogLevel::kError     ? "error"
                       : level >= LogLevel::kWarning ? "warning"
                       : level >= LogLevel::kInfo    ? "info"
                                                     : "debug";
    lines.push_back(std::string(name) + " " + std::string(source) + ": " + std::string(text));
  }
  bool enabled(LogLevel) const override { return true; }
  bool interactive() const override { return false; }
  void status_line(std::string_view) override {}
  void set_step(std::int64_t) override {}
  void flush() override {}

  std::vector<std::string> lines;
};

// A linked saver, over the host's real services.
class LinkedSaver {
 public:
  LinkedSaver(const belay_module& module, std::string name)
      : table_(belay::testing::find_table<belay_saver_api>(module)), name_(std::move(name)) {
    host_.set_service("files", files_service());
    host_.set_service("saver", saver_service());
    handle_ = host_.create(table_);
  }
  SaverUse use() const { return {table_, handle_.self(), name_, "1.0.0"}; }

 private:
  const belay_saver_api* table_;
  std::string name_;
  belay::testing::FakeHost host_;
  SaverHandle handle_;
};
class SafetensorsSaver : public LinkedSaver {
 public:
  SafetensorsSaver() : LinkedSaver(belay_module_safetensors, "safetensors") {}
};

// A saver whose calls are the test's.
class ScriptedSaver {
 public:
  std::function<void(Directory&, TensorSource&)> write = [](Directory&, TensorSource&) {};
  std::function<void(Directory&, TensorSink&)> read = [](Directory&, TensorSink&) {};
  SaverUse use() { return {&kTable, this, "scripted", "0.1"}; }

 private:
  static std::int32_t write_slot(void* self, belay_dir* dir, belay_tensors* tensors, belay_status* status) {
    return belay::detail::guard(status, [&] {
      Directory directory(files_service(), dir);
      TensorSource source(saver_service(), tensors);
      static_cast<ScriptedSaver*>(self)->write(directory, source);
    });
  }
  static std::int32_t read_slot(void* self, belay_dir* dir, belay_tensors* tensors, belay_status* status) {
    return belay::detail::guard(status, [&] {
      Directory directory(files_service(), dir);
      TensorSink sink(saver_service(), tensors);
      static_cast<ScriptedSaver*>(self)->read(directory, sink);
    });
  }
  static constexpr belay_saver_api kTable{sizeof(belay_saver_api), 0, nullptr, nullptr, nullptr, write_slot, read_slot};
};

// Variables and a state of which every bit follows from the step.
class StepContent {
 public:
  explicit StepContent(std::int64_t step, std::size_t elements = 15)
      : kernel_({static_cast<std::int64_t>(elements)}, values(step, elements)),
        bias_({3}, {1.5 * static_cast<double>(step), 0.25, -3.0}),
        step_(step) {
    content_.variables = {
        {"dense/kernel", kernel_.view()}, {"dense/bias", bias_.view()}, {"global_step", step_.view()}};
    content_.global_step = step;
    content_.input_positions["train"] = {step / 10, step % 10};
    content_.hook_states["timer"] = {
        {{"last_step", step}, {"best", 0.1 * static_cast<double>(step)}, {"note", "ok"}, {"window", window(step)}},
        "2.1"};
    content_.fingerprint = {2, "avx2", "binary-1", 42};
    content_.graph_hash = "5c0e";
  }
  StepContent(const StepContent&) = delete;
  StepContent& operator=(const StepContent&) = delete;

  CheckpointContent& content() { return content_; }
  const CheckpointContent& content() const { return content_; }

  // Returns the difference between the checkpoint and the data of this step; empty if there is none.
  std::string difference(const CheckpointReader& reader, const SaverUse& saver) const {
    if (reader.state().global_step != content_.global_step)
      return "step " + std::to_string(reader.state().global_step) + " instead of " +
             std::to_string(content_.global_step);
    if (reader.state().hook_states != content_.hook_states) return "hook states";
    const auto& stored = std::get<StateTensor>(reader.state().hook_states.at("timer").entries.at("window"));
    if (std::memcmp(elements_of(stored).get(), window(content_.global_step).memory.get(), byte_size(stored)) != 0)
      return "a hook's tensor";
    if (reader.state().fingerprint != content_.fingerprint) return "fingerprint";
    const Position& position = reader.state().input_positions.at("train");
    if (position.epoch != content_.global_step / 10 || position.index != content_.global_step % 10) return "position";
    std::vector<Tensor> memory;
    std::vector<NamedTensor> targets;
    for (const NamedTensor& v : content_.variables)
      memory.emplace_back(TensorView(v.tensor).dtype(), TensorView(v.tensor).dims());
    for (std::size_t i = 0; i < memory.size(); ++i) targets.push_back({content_.variables[i].name, memory[i].view()});
    reader.read(saver, targets);
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const TensorView expected(content_.variables[i].tensor);
      if (std::memcmp(memory[i].view().data, expected.data(), expected.bytes()) != 0) return targets[i].name;
    }
    return "";
  }

 private:
  static std::vector<float> values(std::int64_t step, std::size_t n) {
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(step) + static_cast<float>(i) * 0.125f;
    return v;
  }
  static StateTensor window(std::int64_t step) {
    StateTensor t = allocated(DType::kInt32, {2, 3});
    for (std::int32_t i = 0; i < 6; ++i) static_cast<std::int32_t*>(t.memory.get())[i] = i - static_cast<int>(step);
    return t;
  }
  Tensor kernel_, bias_, step_;
  CheckpointContent content_;
};

// The random digits of temporary names taken out: "model.ckpt-5.tmp-0123456789abcdef/index" is
// "model.ckpt-5.tmp/index".
inline std::string without_random_digits(std::string text) {
  for (const char* mark : {".tmp-", ".old-"})
    for (std::size_t at = 0; (at = text.find(mark, at)) != text.npos; at += 4) text.erase(at + 4, 17);
  return text;
}
inline std::vector<std::string> without_random_digits(std::vector<std::string> texts) {
  for (std::string& text : texts) text = without_random_digits(std::move(text));
  return texts;
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace belay::runtime
