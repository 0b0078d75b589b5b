// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/run_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr int kThreadTrack = 1, kOperationTrack = 2, kExchangeTrack = 3;
constexpr std::array<std::string_view, kActivities> kActivityNames = {"computing", "waiting for the input", "saving",
                                                                      "evaluation", "other ranks"};

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string micros(std::int64_t ns) {
  std::string digits = std::to_string(std::max<std::int64_t>(ns, 0));
  if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
  return digits.insert(digits.size() - 3, 1, '.');
}

std::string track_name(int track, const char* name) {
  return R"({"ph":"M","name":"thread_name","pid":0,"tid":)" + std::to_string(track) + R"(,"args":{"name":")" + name +
         "\"}},\n";
}

}  // namespace

RunTrace::RunTrace(OpenDirectory& directory, const std::string& name, Clock& clock, Logger& log,
                   std::uint64_t most_bytes)
    : path_(directory.path() + "/" + name),
      clock_(clock),
      log_(log),
      most_bytes_(most_bytes),
      start_ns_(clock.monotonic_ns()) {
  if (directory.exists(name)) directory.remove(name);
  file_ = directory.create(name);
  lines_ = "[\n" + std::string(R"({"ph":"M","name":"process_name","pid":0,"args":{"name":"belay"}},)") + "\n" +
           track_name(kThreadTrack, "steps and hooks") + track_name(kOperationTrack, "operations");
  flush();
}

RunTrace::~RunTrace() {
  if (!on()) return;
  // JSON allows no comma after the last element.
  lines_ += R"({"ph":"M","name":"process_sort_index","pid":0,"args":{"sort_index":0}})";
  lines_ += "\n]\n";
  flush();
}

void RunTrace::add_slice(std::string_view category, const std::string& name, int track, std::int64_t start_ns,
                         std::int64_t end_ns) {
  lines_ += R"({"ph":"X","cat":")";
  lines_ += category;
  lines_ += R"(","name":)" + json_string(name) + R"(,"pid":0,"tid":)" + std::to_string(track) + R"(,"ts":)" +
            micros(start_ns - start_ns_) + R"(,"dur":)" + micros(end_ns - start_ns) + "},\n";
}

void RunTrace::add(std::string_view category, std::string_view name, std::string_view what,
                   std::int64_t start_ns) noexcept {
  if (!on()) return;
  try {
    add_slice(category, std::string(name) + (what.empty() ? "" : " ") + std::string(what), kThreadTrack, start_ns,
              now_ns());
  } catch (const std::exception& e) {
    give_up(e.what());
  }
}

void RunTrace::add_operations(std::span<const TracedNode> nodes) noexcept {
  if (!on()) return;
  try {
    for (const TracedNode& node : nodes)
      add_slice("op", node.op + " " + node.name, kOperationTrack, node.start_ns, node.end_ns);
  } catch (const std::exception& e) {
    give_up(e.what());
  }
}

void RunTrace::add_exchange(const std::string& name, std::int64_t start_ns, std::int64_t end_ns) noexcept {
  if (!on()) return;
  try {
    if (!std::exchange(exchanges_, true)) lines_ += track_name(kExchangeTrack, "exchange with other ranks");
    add_slice("ranks", name, kExchangeTrack, start_ns, end_ns);
  } catch (const std::exception& e) {
    give_up(e.what());
  }
}

void RunTrace::did(Activity activity, std::int64_t start_ns) noexcept {
  add("activity", kActivityNames[static_cast<std::size_t>(activity)], {}, start_ns);
}

void RunTrace::flush() noexcept {
  if (!on()) return;
  if (written_ + lines_.size() > most_bytes_)
    return give_up(fmt::format("it has {} MiB, which is all that a trace may have", written_ >> 20));
  try {
    file_->write(lines_.data(), lines_.size());
    written_ += lines_.size();
    lines_.clear();
  } catch (const std::exception& e) {
    give_up(e.what());
  }
}

void RunTrace::give_up(const std::string& why) noexcept {
  const std::unique_ptr<OpenFile> file = std::exchange(file_, nullptr);
  lines_.clear();
  log_.warning("", "the trace '" + escaped(path_) + "' ends here: " + why + "; the training continues without it");
}

}  // namespace belay::runtime
