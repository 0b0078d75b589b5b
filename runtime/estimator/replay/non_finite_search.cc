// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/replay/non_finite_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "runtime/events/run_events_reader.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string tensor_text(const NonFiniteTensor& found) {
  return fmt::format("{} ({}), {}: {} is {}, {}{} not finite", single_quoted(found.form.name), found.tensor.ops,
                     form_text(found.form), found.form.dims.empty() ? "it" : "element " + found.position, found.value,
                     found.count, found.count == 1 ? " element is" : " elements are");
}

// Names the tensor by its origin.
std::string origin_sentence(const NonFiniteTensor& found) {
  switch (found.tensor.origin) {
    case TensorOrigin::kHost: return "  it came so out of the input";
    case TensorOrigin::kVariable: return "  the variable was so before the step";
    case TensorOrigin::kConstant: return "  it is a constant of the graph";
    default: return "";
  }
}

}  // namespace

std::int64_t last_step_of_events(FileSystem& files, const std::string& run) {
  std::int64_t last = 0;
  try {
    read_events(files, run, [&](const EventValue&, std::int64_t step) {
      last = std::max(last, step);
      return false;
    });
  } catch (const Error&) {
    return last;  // metrics.jsonl and the checkpoints have steps, too
  }
  return last;
}

std::string NonFiniteSearch::look(const WatchedStep& step, const ArrayPlace& place) {
  looked_at_ = step.step;
  if (!search_.look(step)) return "";
  found_ = true;
  write(step, place);
  return fmt::format("found what is not finite at step {}", step.step);
}

void NonFiniteSearch::write(const WatchedStep& step, const ArrayPlace& place) {
  std::vector<std::size_t> places = search_.places(step);
  for (std::size_t i = 0; i < step.tensors.size(); ++i)
    if (step.tensors[i].origin == TensorOrigin::kHost && std::find(places.begin(), places.end(), i) == places.end())
      places.push_back(i);
  std::vector<TensorInfo> infos;
  std::vector<TensorView> values;
  for (const std::size_t i : places) {
    const TensorView value = step.value(i);
    infos.push_back({step.tensors[i].known_name(), value.dtype(), value.dims()});
    values.push_back(value);
  }
  file_ = write_arrays(place, step.step, infos, values);
}

std::string NonFiniteSearch::text(const TrainingResult& result, const ReplayPlan& plan, const std::string& run) const {
  if (!found_)
    return fmt::format("every step from {} to {} is finite: the loss, and every variable after it ({})\n", plan.first,
                       result.global_step, result.reason.text);
  const NonFiniteTensor& first = search_.first();
  std::string text = fmt::format("step {}: the first that is not finite is {}\n", first.step, tensor_text(first));
  if (const std::string origin = origin_sentence(first); !origin.empty()) text += origin + "\n";
  if (first.tensor.origin == TensorOrigin::kVariable && first.step == plan.first)
    text += fmt::format(
        "  so {} is not finite itself: an earlier one is taken by belay replay {} --first-non-finite --step {}\n",
        plan.checkpoint->name(), escaped(run), plan.checkpoint->state().global_step);
  for (const NodeInput& in : search_.inputs())
    text += "  made from " + single_quoted(in.form.name) + ", " + form_text(in.form) + ", " +
            (in.finite ? "finite" : "not finite") + "\n";
  text += "  after it " + search_.consequence() + "\n";
  if (const auto& earlier = search_.earlier())
    text += fmt::format("  before that, in step {}, nothing came of {}\n", earlier->step, tensor_text(*earlier));
  if (search_.usual() != 0)
    text += fmt::format("  left out: {}{} not finite in step {} already, and nothing came of it\n", search_.usual(),
                        search_.usual() == 1 ? " tensor that was" : " tensors that were", plan.first);
  return text + "  these tensors and the batch are in " + escaped(file_) + "\n";
}

std::string NonFiniteSearch::refused_text(const ReplayPlan& plan, const Error& error) const {
  const std::int64_t step = std::max(looked_at_, plan.first - 1) + 1;
  return fmt::format(
      "step {}: an operation of the model refused what is not finite, so that there are no values of this step: {}\n",
      step, error.message());
}

}  // namespace belay::runtime
