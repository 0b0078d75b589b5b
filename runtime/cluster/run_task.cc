// SPDX-License-Identifier: Apache-2.0
// Reads from BELAY_CONFIG or TF_CONFIG the task and the cluster of this process.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "belay/error.h"
#include "belay/runtime/run_config.h"
#include "runtime/checkpoint/format/strict_json.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using nlohmann::json;
using Task = RunConfig::Task;

constexpr const char* kChief = "chief";
constexpr const char* kMaster = "master";
constexpr const char* kPs = "ps";
constexpr const char* kWorker = "worker";
constexpr const char* kEvaluator = "evaluator";

class TaskReader {
 public:
  TaskReader(const std::string& variable, const json& value) : value_(value) { task_.variable = variable; }

  Task read() {
    if (!value_.is_object()) wrong("it", "an object");
    task_.model_dir = text(value_, "model_dir", "model_dir");
    if (value_.contains("model_dir") && task_.model_dir.empty()) wrong("model_dir", "a path, or left out");
    if (value_.contains("service")) {
      if (!value_["service"].is_object()) wrong("service", "an object");
      task_.service = value_["service"].dump();
    }
    read_task();
    read_cluster();
    if (task_.cluster.empty()) {
      alone();
    } else {
      in_cluster();
    }
    return task_;
  }

 private:
  [[noreturn]] void wrong(const std::string& key, const std::string& expected) const {
    fail(Code::kInvalidArgument, fmt::format("[B5100] {}: {} must be {}", task_.variable, key, expected));
  }

  std::string text(const json& from, const char* key, const char* place) const {
    const auto found = from.find(key);
    if (found == from.end() || found->is_null()) return "";
    if (!found->is_string()) wrong(place, "a string");
    return found->get<std::string>();
  }

  void read_task() {
    const auto found = value_.find("task");
    if (found == value_.end()) return;
    if (!found->is_object()) wrong("task", "an object");
    has_type_ = found->contains("type");
    if (has_type_) task_.type = text(*found, "type", "task.type");
    const auto index = found->find("index");
    has_index_ = index != found->end();
    if (!has_index_) return;
    // Some tools write it as a string.
    if (index->is_number_integer()) {
      task_.index = index->get<std::int64_t>();
    } else if (index->is_string() && !index->get<std::string>().empty() &&
               index->get<std::string>().find_first_not_of("0123456789") == std::string::npos &&
               index->get<std::string>().size() < 10) {
      task_.index = std::stoll(index->get<std::string>());
    } else {
      wrong("task.index", "an integer");
    }
  }

  void read_cluster() {
    const auto found = value_.find("cluster");
    if (found == value_.end()) return;
    if (!found->is_object()) wrong("cluster", "an object with a list of addresses for each job");
    for (const auto& [job, addresses] : found->items()) {
      if (!addresses.is_array()) wrong("cluster." + escaped(job), "a list of addresses");
      for (const json& address : addresses) {
        if (!address.is_string()) wrong("cluster." + escaped(job), "a list of addresses");
        task_.cluster[job].push_back(address.get<std::string>());
      }
    }
  }

  void alone() {
    if (task_.type != kWorker)
      wrong("task.type", std::string("\"worker\" without a cluster, not \"") + escaped(task_.type) + "\"");
    if (task_.index != 0) wrong("task.index", fmt::format("0 without a cluster, not {}", task_.index));
    task_.master = text(value_, "session_master", "session_master");
    task_.evaluation_master = text(value_, "eval_session_master", "eval_session_master");
  }

  std::int64_t count(const char* job) const {
    const auto found = task_.cluster.find(job);
    return found == task_.cluster.end() ? 0 : static_cast<std::int64_t>(found->second.size());
  }

  void in_cluster() {
    const char* chief = task_.cluster.contains(kMaster) ? kMaster : kChief;
    check_chief(chief);
    if (!has_type_) wrong("task.type", "given where there is a cluster");
    if (!has_index_) wrong("task.index", "given where there is a cluster");
    if (task_.index < 0) wrong("task.index", fmt::format("at least 0, not {}", task_.index));
    if (task_.type == kEvaluator) return evaluator(chief);
    if (!task_.cluster.contains(task_.type))
      wrong("task.type", "a job of the cluster, which has no \"" + escaped(task_.type) + "\"");
    if (task_.index >= count(task_.type.c_str()))
      wrong("task.index", fmt::format("below {}, the number of tasks of \"{}\", not {}", count(task_.type.c_str()),
                                      escaped(task_.type), task_.index));
    task_.is_chief = task_.type == chief;
    task_.ps = count(kPs);
    task_.workers = count(kWorker) + count(chief);
    task_.global_id = global_id(chief);
    task_.master = master();
    task_.evaluation_master = text(value_, "eval_session_master", "eval_session_master");
  }

  void check_chief(const char* chief) const {
    if (chief == kMaster && task_.cluster.contains(kChief))
      wrong("cluster", "one with a \"chief\" or one with a \"master\", not with both");
    if (count(chief) != 1) wrong("cluster", fmt::format("one with exactly one \"{}\", not {}", chief, count(chief)));
  }

  // An evaluator is outside the cluster. It trains nothing, and no task waits for it.
  void evaluator(const char* chief) {
    if (chief == kMaster) wrong("task.type", "another than \"evaluator\" where the cluster has a \"master\"");
    task_.cluster.clear();
    task_.is_chief = false;
    task_.ps = task_.workers = 0;
    task_.global_id = std::nullopt;
    task_.evaluation_master = text(value_, "eval_session_master", "eval_session_master");
  }

  std::string master() const {
    std::string given = text(value_, "session_master", "session_master");
    std::size_t tasks = 0;
    for (const auto& [job, addresses] : task_.cluster) tasks += addresses.size();
    if (!given.empty() || tasks == 1) return given;
    return "grpc://" + task_.cluster.at(task_.type)[static_cast<std::size_t>(task_.index)];
  }

  std::int64_t global_id(const char* chief) const {
    std::vector<std::string> jobs{chief};
    for (const auto& [job, addresses] : task_.cluster)
      if (job != chief && job != kPs) jobs.push_back(job);
    jobs.emplace_back(kPs);
    std::int64_t before = 0;
    for (const std::string& job : jobs) {
      if (job == task_.type) break;
      before += count(job.c_str());
    }
    return before + task_.index;
  }

  const json& value_;
  Task task_;
  bool has_type_ = false;
  bool has_index_ = false;
};

}  // namespace

RunConfig::Task task_of(const Environment& environment) {
  for (const char* variable : {"BELAY_CONFIG", "TF_CONFIG"}) {
    const std::optional<std::string> text = environment(variable);
    if (!text || text->empty()) continue;
    try {
      return TaskReader(variable, parse_json(*text)).read();
    } catch (const Error& e) {
      if (e.code() != Code::kDataLoss) throw;
      fail(Code::kInvalidArgument, fmt::format("[B5100] {} is no JSON: {}", variable, take_code(e.what()).text));
    }
  }
  return {};
}

}  // namespace belay::runtime
