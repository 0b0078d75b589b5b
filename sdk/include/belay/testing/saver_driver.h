// SPDX-License-Identifier: Apache-2.0
// Drives a saver plugin without an engine.
//
//   extern "C" const belay_module belay_module_safetensors;
//   SaverDriver saver(belay_module_safetensors);
//   saver.write({{"w", Tensor(Dims{2}, {1.f, 2.f})}});
//   EXPECT_EQ(saver.difference_after_round_trip(tensors), "");
//   EXPECT_EQ(saver.undetected_truncation("model.safetensors"), "");
//   saver.files().contents["model.safetensors"] = foreign_bytes;
//   EXPECT_THROW(saver.read(), Error);
//
// write and read check the contract. The plugin makes at least one file, leaves none open, announces every tensor once,
// and calls the host from its own thread. A violation is an Error of kind FAILED_PRECONDITION. The driver throws an
// exception of the plugin unchanged.
#pragma once

#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "belay/testing/call_interrupt.h"
#include "belay/testing/driver_setup.h"
#include "belay/testing/fake_files.h"
#include "belay/testing/option_values.h"
#include "belay/testing/plugin_library.h"

namespace belay {
inline namespace v0 {
namespace testing {

class SaverDriver {
 public:
  explicit SaverDriver(const belay_module& module, const OptionValues& options = {}, const DriverSetup& setup = {})
      : SaverDriver(find_table<belay_saver_api>(module, setup.plugin), options, setup) {}
  explicit SaverDriver(const belay_saver_api* table, const OptionValues& options = {}, const DriverSetup& setup = {})
      : host_(setup.instance_name), files_(host_) {
    host_.run_directory = setup.run_directory;
    host_.interactive = setup.interactive;
    FakeTensors::offer(host_);
    for (const std::string& service : setup.without) host_.remove_service(service);
    handle_ = options.create(host_, table);
    api_ = belay::detail::adopt(table);
  }

  FakeHost& host() { return host_; }
  // The directory of write and read.
  FakeFiles& files() { return files_; }

  // Empties the directory and writes these tensors into it.
  void write(const NamedTensors& tensors) {
    files_.contents.clear();
    FakeTensors source(tensors);
    belay::detail::Status status;
    const std::int32_t code = api_.write(handle_.self(), files_.raw(), source.raw(), status);
    const std::vector<std::string> left_open = files_.open_files();
    files_.close_all();
    status.check(code);
    check_breaches();
    if (!left_open.empty()) fail(Code::kFailedPrecondition, "write left '" + left_open[0] + "' open");
    if (files_.contents.empty()) fail(Code::kFailedPrecondition, "write left no file");
  }

  // Calls the plugin's `interrupt` while no write or read is in progress. The next call must not notice it. False: it
  // has none.
  bool interrupt() { return call_interrupt(api_, handle_.self()); }

  // The directory's tensors, in the order of their announcement; `wanted`: only these.
  NamedTensors read(std::optional<std::set<std::string>> wanted = std::nullopt) {
    FakeTensors sink(std::move(wanted));
    belay::detail::Status status;
    const std::int32_t code = api_.read(handle_.self(), files_.raw(), sink.raw(), status);
    const std::vector<std::string> left_open = files_.open_files();
    files_.close_all();
    announced_ = sink.announced();
    status.check(code);
    check_breaches();
    if (!left_open.empty()) fail(Code::kFailedPrecondition, "read left '" + left_open[0] + "' open");
    return sink.tensors();
  }
  // All names that the last read announced, including unwanted ones.
  const std::vector<std::string>& announced() const noexcept { return announced_; }

  // Writes, reads, and returns the first difference, down to the bits; empty: none.
  std::string difference_after_round_trip(const NamedTensors& tensors) {
    write(tensors);
    const NamedTensors found = read();
    if (found.size() != tensors.size())
      return std::to_string(found.size()) + " tensors instead of " + std::to_string(tensors.size());
    for (const auto& [name, expected] : tensors) {
      const Tensor* actual = nullptr;
      for (const auto& [key, value] : found)
        if (key == name) actual = &value;
      if (actual == nullptr) return "'" + name + "' is missing";
      if (!same(*actual, expected)) return "'" + name + "' differs";
    }
    return "";
  }

  // Cuts the file at every length below its own and reads it. Returns the first length at which the read did not fail
  // with DATA_LOSS, and its result. Empty: every cut is detected. The file is whole again afterwards.
  std::string undetected_truncation(const std::string& file) {
    const std::string whole = files_.contents.at(file);
    std::string undetected;
    for (std::size_t length = 0; length < whole.size() && undetected.empty(); ++length) {
      files_.contents[file] = whole.substr(0, length);
      try {
        read();
        undetected = "cut to " + std::to_string(length) + " bytes it was read";
      } catch (const Error& e) {
        if (e.code() != Code::kDataLoss)
          undetected = "cut to " + std::to_string(length) + " bytes: " + code_name(e.code()) + ": " + e.what();
      }
    }
    files_.contents[file] = whole;
    return undetected;
  }

 private:
  void check_breaches() {
    const std::vector<std::string> breaches = host_.breaches();
    if (!breaches.empty()) fail(Code::kFailedPrecondition, breaches[0]);
  }
  static bool same(const Tensor& a, const Tensor& b) {
    const TensorView x(a.view()), y(b.view());
    if (x.dtype() != y.dtype() || x.dims() != y.dims()) return false;
    if (x.dtype() == DType::kString) {
      for (std::size_t i = 0; i < x.size(); ++i)
        if (x.text(i) != y.text(i)) return false;
      return true;
    }
    return x.bytes() == 0 || std::memcmp(x.data(), y.data(), x.bytes()) == 0;
  }

  FakeHost host_;
  FakeFiles files_;
  SaverHandle handle_;
  belay_saver_api api_{};
  std::vector<std::string> announced_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
