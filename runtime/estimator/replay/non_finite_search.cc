// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/replay/non_finite_search.h"

#include <algorithm>
#include <vector>

#include "runtime/events/run_events_reader.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string tensor_text(const NonFiniteTensor& found) {
  return single_quoted(found.form.name) + " (" + found.tensor.ops + "), " + form_text(found.form) + ": " +
         (found.form.dims.empty() ? "it" : "element " + found.position) + " is " + found.value + ", " +
         std::to_string(found.count) + (found.count == 1 ? " element is" : " elements are") + " not finite";
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
  return "found what is not finite at step " + std::to_string(step.step);
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
    return "every step from " + std::to_string(plan.first) + " to " + std::to_string(result.global_step) +
           " is finite: the loss, and every variable after it (" + result.reason.text + ")\n";
  const NonFiniteTensor& first = search_.first();
  std::string text =
      "step " + std::to_string(first.step) + ": the first that is not finite is " + tensor_text(first) + "\n";
  if (const std::string origin = origin_sentence(first); !origin.empty()) text += origin + "\n";
  if (first.tensor.origin == TensorOrigin::kVariable && first.step == plan.first)
    text += "  so " + plan.checkpoint->name() + " is not finite itself: an earlier one is taken by belay replay " +
            escaped(run) + " --first-non-finite --step " + std::to_string(plan.checkpoint->state().global_step) + "\n";
  for (const NodeInput& in : search_.inputs())
    text += "  made from " + single_quoted(in.form.name) + ", " + form_text(in.form) + ", " +
            (in.finite ? "finite" : "not finite") + "\n";
  text += "  after it " + search_.consequence() + "\n";
  if (const auto& earlier = search_.earlier())
    text +=
        "  before that, in step " + std::to_string(earlier->step) + ", nothing came of " + tensor_text(*earlier) + "\n";
  if (search_.usual() != 0)
    text += "  left out: " + std::to_string(search_.usual()) +
            (search_.usual() == 1 ? " tensor that was" : " tensors that were") + " not finite in step " +
            std::to_string(plan.first) + " already, and nothing came of it\n";
  return text + "  these tensors and the batch are in " + escaped(file_) + "\n";
}

std::string NonFiniteSearch::refused_text(const ReplayPlan& plan, const Error& error) const {
  const std::int64_t step = std::max(looked_at_, plan.first - 1) + 1;
  return "step " + std::to_string(step) +
         ": an operation of the model refused what is not finite, so that there are no values of this step: " +
         std::string(error.message()) + "\n";
}

}  // namespace belay::runtime
