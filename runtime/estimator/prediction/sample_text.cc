// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/sample_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "belay/detail/parse_options.h"  // number_text
#include "belay/philox.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

void check_model(const LanguageModel& model) {
  const DType type = model.ids.dtype();
  if (model.ids.rank() != 2 || model.ids.dim(1) < 1 || (type != DType::kInt32 && type != DType::kInt64))
    fail(Code::kInvalidArgument,
         "[B5036] sampling needs a model of ids, int32 or int64 [batch, time] with a known time; the feature is " +
             model.ids.text());
  if (model.names.empty())
    fail(Code::kInvalidArgument, "[B5036] the input does not declare which characters the ids of " + model.ids.text() +
                                     " are (set_class_names), so there is no text to sample; the input 'text' does");
  const Output& p = model.probabilities;
  if (!p)
    fail(Code::kInvalidArgument,
         "[B5036] sampling needs the prediction 'probabilities', as the models 'lstm' and 'transformer' have it");
  if (p.rank() != 3 || p.dim(1) != model.ids.dim(1) || p.dim(2) != static_cast<std::int64_t>(model.names.size()))
    fail(Code::kInvalidArgument,
         fmt::format("[B5036] sampling needs the probabilities of the next id at each place, [?, {}, {}], as the "
                     "models 'lstm' and 'transformer' predict them; the model predicts {}",
                     model.ids.dim(1), model.names.size(), p.text()));
}

void check_options(const SampleOptions& options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature))
    fail(Code::kInvalidArgument, "[B5004] the temperature is " + detail::number_text(options.temperature) +
                                     ", must be a number from 0 (the most probable character) up");
  if (options.length < 0)
    fail(Code::kInvalidArgument, fmt::format("[B5004] the length is {}, must be >= 0", options.length));
}

// Returns some of the names from all over the list: "'\n', 'B', 'Z', 'p'".
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kSome = 8;
  std::vector<std::string> some;
  const std::size_t n = std::min(kSome, names.size());
  for (std::size_t i = 0; i < n; ++i) some.push_back(single_quoted(names[i * names.size() / n]));
  return joined(some) + (n < names.size() ? ", ..." : "");
}

std::vector<std::int64_t> ids_of(std::string_view text, const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::int64_t> id_of;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    id_of.emplace(names[i], static_cast<std::int64_t>(i));
    longest = std::max(longest, names[i].size());
  }
  std::vector<std::int64_t> ids;
  while (!text.empty()) {
    std::size_t size = std::min(longest, text.size());
    while (size > 0 && id_of.count(text.substr(0, size)) == 0) --size;
    if (size == 0)
      fail(Code::kInvalidArgument,
           fmt::format("[B5036] the prompt has {}, which is not among the {} characters of the vocabulary: {}",
                       single_quoted(text.substr(0, first_char(text).size)), names.size(), some_of(names)));
    ids.push_back(id_of.at(text.substr(0, size)));
    text.remove_prefix(size);
  }
  return ids;
}

std::vector<std::int64_t> begin_of_text(const SampleOptions& options, const std::vector<std::string>& names) {
  if (!options.prompt.empty()) return ids_of(options.prompt, names);
  const auto newline = std::find(names.begin(), names.end(), "\n");
  return {newline == names.end() ? 0 : newline - names.begin()};
}

// The end of the text, at the beginning of the tensor to feed; the rest is filled with the first id.
class Window {
 public:
  Window(const Output& ids, const std::vector<std::int64_t>& text)
      : ids_(ids.dtype(), {1, ids.dim(1)}), raw_{ids.raw(), ids_.view()} {
    const std::size_t n = std::min(text.size(), ids_.size());
    last_.reserve(ids_.size());
    last_.assign(text.end() - static_cast<std::ptrdiff_t>(n), text.end());
    fill();
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  void add(std::int64_t id) {
    if (last_.size() == ids_.size()) last_.erase(last_.begin());
    last_.push_back(id);
    fill();
  }
  std::size_t last_place() const { return last_.size() - 1; }
  const belay_feed& feed() const { return raw_; }

 private:
  void fill() {
    for (std::size_t i = 0; i < last_.size(); ++i) {
      if (ids_.dtype() == DType::kInt64)
        ids_.data<std::int64_t>()[i] = last_[i];
      else
        ids_.data<std::int32_t>()[i] = static_cast<std::int32_t>(last_[i]);
    }
  }

  Tensor ids_;
  belay_feed raw_;
  std::vector<std::int64_t> last_;
};

// Draws from one row of probabilities at a time.
class Draw {
 public:
  explicit Draw(const SampleOptions& options)
      : temperature_(options.temperature), key_(mix_key(options.seed, stream_id("sample_text"))) {}

  // Returns the id for this place of the text. `begin`: of the row in `all`.
  std::size_t operator()(const TensorView& all, std::size_t begin, std::size_t n, std::uint64_t place) {
    weights_.resize(n);
    for (std::size_t i = 0; i < n; ++i) weights_[i] = all.number(begin + i);
    const auto finite = [](double p) { return p >= 0 && !std::isinf(p); };
    const std::size_t most =
        static_cast<std::size_t>(std::max_element(weights_.begin(), weights_.end()) - weights_.begin());
    if (!std::all_of(weights_.begin(), weights_.end(), finite) || weights_[most] == 0)
      fail(
          Code::kDiverged,
          "[B5043] the model's probabilities are no finite numbers; the checkpoint is of a training that has diverged");
    return temperature_ == 0 ? most : drawn(weights_[most], place);
  }

 private:
  std::size_t drawn(double largest, std::uint64_t place) {
    double sum = 0;
    for (double& w : weights_) sum += w = std::exp(std::log(w / largest) / temperature_);
    const PhiloxBlock random = philox(key_, place, 0);
    double rest = uniform_double(random[0], random[1]) * sum;
    std::size_t last = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0) continue;
      last = i;
      if (rest < weights_[i]) break;
      rest -= weights_[i];
    }
    return last;
  }

  double temperature_;
  std::uint64_t key_;
  std::vector<double> weights_;
};

}  // namespace

void sample_text(DirectSession& session, const LanguageModel& model, const SampleOptions& options,
                 const std::function<bool(std::string_view)>& deliver) {
  check_model(model);
  check_options(options);
  const std::vector<std::int64_t> begin = begin_of_text(options, model.names);
  Window window(model.ids, begin);
  Draw draw(options);
  FetchSet fetches(std::vector<FetchRef>{model.probabilities});
  const std::size_t n = model.names.size();
  for (std::int64_t i = 0; i < options.length; ++i) {
    RunRequest request;
    request.fetches = &fetches;
    request.feeds = {&window.feed(), 1};
    const Run run = session.run(request);
    const TensorView all(run.result(fetches, 0));
    const std::size_t id = draw(all, window.last_place() * n, n, begin.size() + static_cast<std::uint64_t>(i));
    if (!deliver(model.names[id])) return;
    window.add(static_cast<std::int64_t>(id));
  }
}

}  // namespace belay::runtime
