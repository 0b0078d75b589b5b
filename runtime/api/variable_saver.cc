// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/variable_saver.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/api/graph.h"
#include "runtime/api/log.h"
#include "runtime/api/plugin_parts.h"
#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/basename.h"
#include "runtime/checkpoint/read/compare_tensors.h"
#include "runtime/checkpoint/read/read_tensors.h"
#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/checkpoint/stored/convert_stored.h"
#include "runtime/monitored/run/run_directory.h"
#include "runtime/monitored/saving/run_saver.h"
#include "runtime/platform/files/absolute_path.h"
#include "runtime/platform/text/text.h"
#include "runtime/session/session_service.h"

namespace belay {

struct VariableSaver::Insides {
  // A variable of the graph, and its name in the file.
  struct SavedVariable {
    std::string stored_name;
    std::string name;
  };

  Insides(const OwnedGraph& owned, const std::vector<StoredVariable>* chosen, VariableSaverOptions o)
      : nodes(owned.insides().nodes),
        options(std::move(o)),
        variables(saved_variables(owned, chosen)),
        log(runtime::make_log(options.log)),
        parts(owned.plugins()) {}

  const runtime::SaverUse& saver(const std::string& name) {
    auto at = savers.find(name);
    if (at == savers.end())
      at = savers.emplace(name, runtime::saver_use(parts.create(runtime::PluginKind::kSaver, name))).first;
    return at->second;
  }
  runtime::DirectSession& session_of(const Session& session) const {
    runtime::DirectSession& raw = runtime::from_handle(session.raw());
    if (&raw.graph() != &nodes)
      fail(Code::kInvalidArgument, "[B5056] the session is over another graph than the VariableSaver was made for");
    return raw;
  }
  std::vector<runtime::Variable*> in(runtime::DirectSession& session) const {
    std::vector<runtime::Variable*> found;
    for (const SavedVariable& v : variables) found.push_back(session.store().find(v.name));
    return found;
  }
  // Whether these are all variables that a checkpoint of the session would hold.
  bool complete(const runtime::DirectSession& session) const {
    std::map<std::string, bool> names;
    for (const SavedVariable& v : variables) names[v.name] = true;
    return names.size() == session.variables().size();
  }
  // Sorts by the names in the file. Null: all variables of the graph.
  static std::vector<SavedVariable> saved_variables(const OwnedGraph& graph, const std::vector<StoredVariable>* chosen);
  std::string write_file(const runtime::CheckpointContent& content, const std::string& path);
  std::string write_checkpoint(const runtime::CheckpointContent& content, const std::string& path);

  runtime::NodeGraph& nodes;
  const VariableSaverOptions options;
  const std::vector<SavedVariable> variables;
  const std::unique_ptr<runtime::Logger> log;
  runtime::PluginParts parts;
  std::map<std::string, runtime::SaverUse> savers;
  std::vector<std::string> last_checkpoints;
};

auto VariableSaver::Insides::saved_variables(const OwnedGraph& graph, const std::vector<StoredVariable>* chosen)
    -> std::vector<SavedVariable> {
  const std::vector<Output> saved = graph.collection(collections::kGlobalVariables);
  const std::vector<StoredVariable> all(saved.begin(), saved.end());
  const std::vector<StoredVariable>& variables = chosen == nullptr ? all : *chosen;
  if (variables.empty())
    fail(Code::kInvalidArgument, std::string("[B5056] there is nothing to save: ") +
                                     (chosen == nullptr ? "the graph has no variable yet"
                                                        : "the list of variables is empty; leave it out to save all"));
  std::map<std::string, std::string> names;
  for (const StoredVariable& v : variables) {
    if (std::find(saved.begin(), saved.end(), v.variable) == saved.end())
      fail(Code::kInvalidArgument, fmt::format("[B5056] {} is not one of this graph's variables that are saved: give "
                                               "what ops::variable returned, of VariableKind kTrainable or kGlobal",
                                               v.variable ? v.variable.text() : "an empty Output"));
    const std::string name = graph.node_name_of(v.variable);
    const std::string& stored_name = v.name.empty() ? name : v.name;
    if (!names.emplace(stored_name, name).second)
      fail(Code::kInvalidArgument, "[B5056] two variables are to be stored as " + runtime::single_quoted(stored_name));
  }
  std::vector<SavedVariable> sorted;
  for (auto& [stored_name, name] : names) sorted.push_back({stored_name, std::move(name)});
  return sorted;
}

VariableSaver::VariableSaver(std::unique_ptr<List> variables, const OwnedGraph& graph,
                             const VariableSaverOptions& options)
    : insides_(std::make_unique<Insides>(graph, variables.get(), options)) {}

VariableSaver::~VariableSaver() = default;

// ---- saving

std::string VariableSaver::Insides::write_file(const runtime::CheckpointContent& content, const std::string& path) {
  const runtime::SaverUse& use = saver(runtime::saver_of_name(path));
  runtime::CheckpointSettings settings;
  settings.refuse_non_finite = options.refuse_non_finite;
  runtime::FileSystem& files = runtime::posix_file_system();
  files.make_directories(runtime::path_parts(path).parent);
  runtime::write_stored(files, content, path, use, runtime::system_clock(), *log, settings,
                        runtime::IfThere::kReplaceFile);
  return path;
}

std::string VariableSaver::Insides::write_checkpoint(const runtime::CheckpointContent& content,
                                                     const std::string& path) {
  const runtime::SaverUse& use = saver(options.saver);
  const runtime::PathParts parts_of_path = runtime::path_parts(path);
  const std::string& folder = parts_of_path.parent;
  runtime::CheckpointSettings settings;
  settings.basename = parts_of_path.name;
  settings.max_to_keep = options.max_to_keep;
  settings.refuse_non_finite = options.refuse_non_finite;
  runtime::FileSystem& files = runtime::posix_file_system();
  if (files.exists(folder + "/" + std::string(runtime::kAttemptsName)))
    fail(Code::kFailedPrecondition,
         fmt::format(
             "[B5056] {} is the directory of a training, which would continue from what is saved there: save into "
             "another folder, or let the training's session save",
             runtime::single_quoted(folder)));
  runtime::RunDirectory directory = runtime::RunDirectory::open(files, folder, runtime::system_clock(), *log);
  runtime::check_basename(directory.directory(), settings.basename);
  runtime::CheckpointSeries series(files, directory.directory(), runtime::system_clock(), *log, settings);
  series.recover();
  std::string saved = series.save(content, use);
  series.retain();
  last_checkpoints.clear();
  for (const std::string& name : series.names()) last_checkpoints.push_back(folder + "/" + name);
  return saved;
}

std::string VariableSaver::save(const Session& session, const std::string& path, std::optional<std::int64_t> step) {
  runtime::DirectSession& raw = insides_->session_of(session);
  const std::string absolute = runtime::absolute_path(path);
  const bool one_file = !runtime::saver_of_name(runtime::path_parts(absolute).name).empty();
  std::int64_t global_step = raw.global_step();
  if (one_file && step)
    fail(Code::kInvalidArgument, fmt::format("[B5056] step {} was given with the file {}: only checkpoints have steps; "
                                             "leave the step out, or the ending of the name",
                                             *step, runtime::single_quoted(path)));
  if (!one_file && !step && global_step < 0)
    fail(Code::kInvalidArgument, "[B5056] the graph has no global step, and " + runtime::single_quoted(path) +
                                     " is a checkpoint's path, which ends with the step: give save() a step, or name "
                                     "one file, such as 'weights.safetensors'");

  runtime::Snapshot snapshot;
  raw.store().snapshot(insides_->in(raw), snapshot);
  runtime::CheckpointContent content;
  for (std::size_t i = 0; i < snapshot.values.size(); ++i) {
    content.variables.push_back({insides_->variables[i].stored_name, snapshot.values[i].view(), true});
    // Takes the step of the snapshot, since other threads may train meanwhile.
    if (insides_->variables[i].name == raw.global_step_name()) global_step = *snapshot.values[i].data<std::int64_t>();
  }
  content.global_step = step ? *step : std::max<std::int64_t>(global_step, 0);
  if (insides_->complete(raw)) content.graph_hash = raw.graph().variables_digest();
  return one_file ? insides_->write_file(content, absolute) : insides_->write_checkpoint(content, absolute);
}

// ---- restoring

void VariableSaver::restore(const Session& session, const std::string& path) {
  runtime::DirectSession& raw = insides_->session_of(session);
  runtime::FileSystem& files = runtime::posix_file_system();
  runtime::StoredPlace place = runtime::find_stored(files, runtime::absolute_path(path), *insides_->log);
  const runtime::SaverUse& use = insides_->saver(place.saver.empty() ? insides_->options.saver : place.saver);
  std::unique_ptr<runtime::StoredTensors> stored = std::move(place.checkpoint);
  if (stored == nullptr) stored = runtime::open_stored_tensors(files, place.path, use, *insides_->log);

  const std::vector<runtime::Variable*> variables = insides_->in(raw);
  std::vector<runtime::TensorInfo> wanted;
  for (std::size_t i = 0; i < variables.size(); ++i)
    wanted.push_back({insides_->variables[i].stored_name, variables[i]->value.dtype(), variables[i]->value.dims()});
  runtime::check_holds(*stored, wanted);
  const runtime::TensorMemory values(wanted);
  stored->read(use, values.tensors());

  const std::unique_lock gate(raw.store().gate());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    runtime::Variable& v = *variables[i];
    if (v.value.bytes() != 0) std::memcpy(v.value.data(), values.tensors()[i].tensor.data, v.value.bytes());
    v.initialized = true;
    ++v.version;
    ++v.assigned;
  }
  if (insides_->complete(raw)) raw.store().mark_clean();
}

const std::vector<std::string>& VariableSaver::last_checkpoints() const noexcept { return insides_->last_checkpoints; }

}  // namespace belay
