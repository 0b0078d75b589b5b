// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/pictures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/events/proto/event.pb.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMostTags = 24, kMostHistograms = 10, kMostImages = 4;
constexpr std::size_t kMostImageBytes = std::size_t{256} << 10, kMostBytesOfImages = std::size_t{1} << 20;
constexpr std::size_t kMostText = 4000;

// Holds kind, run and tag.
using PictureTag = std::tuple<std::string, std::size_t, std::string>;
using StepsOfTags = std::map<PictureTag, std::vector<std::int64_t>>;

std::string type_of_image(const std::string& bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF8")) return "image/gif";
  return "";
}

// Returns at most this number of steps: the first, the last, and others evenly between.
std::vector<std::int64_t> some_of(const std::vector<std::int64_t>& steps, std::size_t at_most) {
  if (steps.size() <= at_most) return steps;
  std::vector<std::int64_t> some;
  for (std::size_t i = 0; i < at_most; ++i) some.push_back(steps[i * (steps.size() - 1) / (at_most - 1)]);
  return some;
}

StepsOfTags steps_of_tags(const ReadEvents& events, const std::vector<bool>& shown) {
  StepsOfTags all;
  for (const EventPoint& p : events.points) {
    const std::string& kind = p.value.kind;
    if (p.redone || !shown[p.run] || (kind != "histogram" && kind != "image")) continue;
    all[{kind, p.run, p.value.tag}].push_back(p.step);
  }
  for (auto& [tag, steps] : all) {
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  }
  return all;
}

std::string name_in(const std::string& run, const std::string& tag) { return run == "." ? tag : run + "/" + tag; }

class PictureReader {
 public:
  PictureReader(const ReadEvents& events, const std::vector<bool>& shown) : events_(events), shown_(shown) {
    std::map<std::string, std::size_t> tags_of_kind;
    for (auto& [tag, steps] : steps_of_tags(events, shown)) {
      const std::string& kind = std::get<0>(tag);
      if (tags_of_kind[kind]++ >= kMostTags) continue;
      const auto& some = wanted_[tag] = some_of(steps, kind == "image" ? kMostImages : kMostHistograms);
      wanted_steps_.insert(some.begin(), some.end());
    }
    for (const auto& [kind, tags] : tags_of_kind)
      if (tags > kMostTags)
        pictures_.left_out.push_back(fmt::format("{} more tags of kind {}", tags - kMostTags, kind));
    for (const EventPoint& p : events.points) graph_ = graph_ || (p.value.kind == "graph" && shown[p.run]);
  }

  bool wants_any() const { return graph_ || !wanted_.empty(); }

  Pictures read(FileSystem& files, const std::string& path) {
    const ReadEvents again = read_events(
        files, path,
        [&](const EventValue& v, std::int64_t step) {
          if (v.kind == "graph") return true;
          return (v.kind == "histogram" || v.kind == "image") && wanted_steps_.count(step) != 0;
        },
        EventContents::kHeld);
    for (const EventPoint& p : again.points)
      if (p.run < shown_.size() && shown_[p.run] && !p.redone) add(p);
    return std::move(pictures_);
  }

  void read_texts() {
    std::map<std::string, TextOfTag> last;
    for (const EventPoint& p : events_.points) {
      if (p.redone || !shown_[p.run] || p.value.kind != "text" || p.value.tag == "checkpoint_path") continue;
      const std::string name = name_in(events_.runs[p.run], p.value.tag);
      if (last.size() >= kMostTags && last.count(name) == 0) continue;
      last[name] = {name, p.step, p.value.text.substr(0, kMostText)};
    }
    for (auto& [name, text] : last) pictures_.texts.push_back(std::move(text));
  }

  void read_matrices() {
    std::map<std::string, const EventPoint*> last;
    for (const EventPoint& p : events_.points) {
      if (p.redone || !shown_[p.run] || p.value.kind != "tensor" || !p.value.text.starts_with("[[")) continue;
      const std::string name = name_in(events_.runs[p.run], p.value.tag);
      if (last.size() < kMostTags || last.count(name) != 0) last[name] = &p;
    }
    for (const auto& [name, p] : last) pictures_.matrices.push_back({name, p->step, parse_matrix(p->value.text)});
  }

  Pictures texts_only() { return std::move(pictures_); }

 private:
  void add(const EventPoint& p) {
    if (p.value.kind == "graph") {
      if (events_.runs[p.run] == ".") pictures_.graph = p.value.content;
      return;
    }
    const auto wanted = wanted_.find({p.value.kind, p.run, p.value.tag});
    if (wanted == wanted_.end()) return;
    if (!std::binary_search(wanted->second.begin(), wanted->second.end(), p.step)) return;
    const std::string name = name_in(events_.runs[p.run], p.value.tag);
    p.value.kind == "image" ? add_image(name, p) : add_histogram(name, p);
  }

  void add_histogram(const std::string& name, const EventPoint& p) {
    Histogram histogram = parse_histogram(p.value.content, p.step);
    if (histogram.buckets.empty()) return;
    auto& all = pictures_.histograms;
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& h) { return h.name == name; });
    (at == all.end() ? all.emplace_back(HistogramsOfTag{name, {}}) : *at).steps.push_back(std::move(histogram));
  }

  void add_image(const std::string& name, const EventPoint& p) {
    const std::string type = type_of_image(p.value.content);
    const std::size_t bytes = p.value.content.size();
    if (type.empty() || bytes > kMostImageBytes || image_bytes_ + bytes > kMostBytesOfImages) {
      pictures_.left_out.push_back(fmt::format("the image {} of step {}{}", name, p.step,
                                               type.empty() ? ", which is no PNG, JPEG or GIF" : ": too large"));
      return;
    }
    image_bytes_ += bytes;
    auto& all = pictures_.images;
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& i) { return i.name == name; });
    (at == all.end() ? all.emplace_back(ImagesOfTag{name, {}}) : *at).steps.push_back({p.step, type, p.value.content});
  }

  const ReadEvents& events_;
  const std::vector<bool>& shown_;
  StepsOfTags wanted_;
  std::set<std::int64_t> wanted_steps_;  // of all tags
  bool graph_ = false;
  std::size_t image_bytes_ = 0;
  Pictures pictures_;
};

}  // namespace

Histogram parse_histogram(const std::string& content, std::int64_t step) {
  Histogram histogram{step, {}};
  pb::HistogramProto h;
  if (!h.ParseFromString(content)) return histogram;
  double left = h.min();
  const int buckets = std::min(h.bucket_size(), h.bucket_limit_size());
  for (int i = 0; i < buckets; ++i) {
    // The outermost limits are the largest numbers of the type.
    const double right = std::min(h.bucket_limit(i), h.max());
    if (h.bucket(i) > 0 && std::isfinite(left) && std::isfinite(right) && right >= left)
      histogram.buckets.push_back({left, right, h.bucket(i)});
    left = std::max(right, h.min());
  }
  return histogram;
}

Pictures read_pictures(FileSystem& files, const std::string& path, const ReadEvents& events,
                       const std::vector<bool>& shown) {
  PictureReader reader(events, shown);
  reader.read_texts();
  reader.read_matrices();
  return reader.wants_any() ? reader.read(files, path) : reader.texts_only();
}

}  // namespace belay::runtime
