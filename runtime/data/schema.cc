// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

const char* role_of(const InputComponent& c) { return c.label ? "label" : "feature"; }
std::string named(const InputComponent& c) { return role_of(c) + (" " + double_quoted(c.name)); }

std::string words_text(const std::vector<std::string>& words) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(words.size(), kShown); ++i) shown.push_back(double_quoted(words[i]));
  return joined(shown) + (words.size() > kShown ? fmt::format(" and {} more", words.size() - kShown) : "");
}

// True if the classes' names are their numbers.
bool are_numbers(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] != std::to_string(i)) return false;
  return true;
}

std::string form_of(const InputComponent& c) { return std::string(dtype_name(c.dtype)) + " " + dims_text(c.dims); }

bool same_rows(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 1; i < a.size(); ++i)
    if (a[i] >= 0 && b[i] >= 0 && a[i] != b[i]) return false;
  return true;
}

// Returns those of `names` that `others` lacks.
std::vector<std::string> missing_in(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  const std::set<std::string_view> there(others.begin(), others.end());
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (!there.contains(name)) missing.push_back(name);
  return missing;
}

// Returns the index in `there` of each of `wanted`; all are there.
template <class Index>
std::vector<Index> places_of(const std::vector<std::string>& wanted, const std::vector<std::string>& there) {
  std::unordered_map<std::string_view, Index> place;
  for (std::size_t i = 0; i < there.size(); ++i) place.emplace(there[i], static_cast<Index>(i));
  std::vector<Index> places;
  places.reserve(wanted.size());
  for (const std::string& name : wanted) places.push_back(place.at(name));
  return places;
}

template <class Index>
bool is_order(const std::vector<Index>& places) {
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] != static_cast<Index>(i)) return false;
  return true;
}

// Returns the parts for the model: no ids, and for a prediction no labels.
std::vector<const InputComponent*> used(const std::vector<InputComponent>& all, bool label) {
  std::vector<const InputComponent*> found;
  for (const InputComponent& c : all)
    if (c.label == label && !is_only_an_id(all, c)) found.push_back(&c);
  return found;
}

std::vector<std::string> names_of(const std::vector<const InputComponent*>& components) {
  std::vector<std::string> names;
  for (const InputComponent* c : components) names.push_back(c->name);
  return names;
}

const InputComponent* find(const std::vector<const InputComponent*>& components, const std::string& name) {
  const auto found = std::find_if(components.begin(), components.end(), [&](const auto* c) { return c->name == name; });
  return found == components.end() ? nullptr : *found;
}

// Returns the option of a kept value: "standardize" for "standardize.mean".
std::string option_of(const std::string& kept) { return kept.substr(0, kept.find('.')); }

// True if the value is about the input's element type: `name` is like "scale.dtype", and the input's section sets the
// option.
bool is_for_own_elements(const std::string& name, const std::set<std::string>& said) {
  return name.ends_with(".dtype") && said.contains(option_of(name));
}

// True if the value counts or measures a label of the training, such as "label.counts". Models use it, and inputs do
// not.
bool is_fact_of_label(const std::string& name, const std::vector<InputComponent>& components) {
  return std::any_of(components.begin(), components.end(), [&](const InputComponent& c) {
    return c.label && std::string_view(name).starts_with(c.name + ".");
  });
}

// True if the value only names columns of the training's files: a label's, the id's, or those that are no features. An
// example is a table's column `label`. Another plugin has other files.
bool is_place_in_file(const std::string& name, const KeptValue& value, const std::vector<InputComponent>& components) {
  const bool is_label = std::any_of(components.begin(), components.end(),
                                    [&](const InputComponent& c) { return c.label && c.name == name; });
  return (is_label || name == kIdName || name == "ignored") && std::holds_alternative<std::vector<std::string>>(value);
}

// JSON does not distinguish an empty list of numbers from an empty list of words.
bool same_kept(const KeptValue& a, const KeptValue& b) {
  const auto is_empty = [](const auto& list) { return list.empty(); };
  return a == b || (std::visit(is_empty, a) && std::visit(is_empty, b));
}

std::string kept_text(const KeptValue& value) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&value)) return words_text(*words);
  std::vector<std::string> shown;
  const auto& values = std::get<std::vector<double>>(value);
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(values.size(), kShown); ++i) shown.push_back(fmt::format("{}", values[i]));
  return joined(shown) + (values.size() > kShown ? ", ..." : "");
}

}  // namespace

bool is_only_an_id(const std::vector<InputComponent>& components, const InputComponent& component) {
  if (component.name != kIdName) return false;
  const auto labels = std::count_if(components.begin(), components.end(), [](const auto& c) { return c.label; });
  return component.dtype == DType::kString || (component.label && labels > 1);
}

std::vector<std::string> class_names_of(const std::vector<InputComponent>& components) {
  std::vector<std::string> names;
  std::size_t labels = 0;
  for (const InputComponent& c : components)
    if (c.label && c.name != kWeightName && !is_only_an_id(components, c)) ++labels, names = c.class_names;
  return labels == 1 ? names : std::vector<std::string>();
}

namespace {

// Takes the name of a kept value, or an option's key. True if a part of it is a label's name, or names labels
// ("label_type", "class_names", "features.species.dtype").
bool is_of_labels(std::string_view name, const std::vector<InputComponent>& components) {
  if (name.starts_with("label") || name.starts_with("class")) return true;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (std::any_of(components.begin(), components.end(), [&](const auto& c) { return c.label && c.name == part; }))
      return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

Schema features_of(Schema schema) {
  const std::vector<InputComponent> all = schema.components;
  std::erase_if(schema.components, [](const InputComponent& c) { return c.label; });
  std::erase_if(schema.kept, [&](const auto& kept) { return is_of_labels(kept.first, all); });
  std::erase_if(schema.options, [&](const PluginOption& option) { return is_of_labels(option.key, all); });
  schema.features_alone = true;
  return schema;
}

// ---- matching

namespace {

class Matcher {
 public:
  Matcher(const MatchedInput& input) : prefix_("[input." + input.name + "] ") {}

  // Returns the columns of `own` in the training's order; empty: they are in that order.
  std::vector<std::size_t> columns(const InputComponent& trained, const InputComponent& own) {
    if (trained.columns.empty() || own.columns.empty()) return {};
    const std::vector<std::string> missing = missing_in(trained.columns, own.columns);
    const std::vector<std::string> extra = missing_in(own.columns, trained.columns);
    if (!missing.empty())
      problem(named(own) + " lacks " + words_text(missing) + ", which the training had as " +
              (missing.size() == 1 ? "a column" : "columns"));
    if (!extra.empty())
      problem(named(own) + " has " + words_text(extra) + ", which " +
              (extra.size() == 1 ? "is no column" : "are no columns") + " of the training");
    if (!missing.empty() || !extra.empty()) return {};
    std::vector<std::size_t> places = places_of<std::size_t>(trained.columns, own.columns);
    if (is_order(places)) places.clear();
    return places;
  }

  // Returns the training's class for each class of `own`; empty: they are the same.
  std::vector<std::int64_t> classes(const InputComponent& trained, const InputComponent& own) {
    if (!trained.class_names.empty() && !own.class_names.empty()) {
      const std::vector<std::string> unknown = missing_in(own.class_names, trained.class_names);
      if (!unknown.empty()) {
        problem(named(own) + " has " + words_text(unknown) + ", which the training did not have; it had " +
                words_text(trained.class_names));
        return {};
      }
      std::vector<std::int64_t> numbers = places_of<std::int64_t>(own.class_names, trained.class_names);
      if (is_order(numbers)) numbers.clear();
      return numbers;
    }
    if (trained.classes > 0 && own.classes > 0 && trained.classes != own.classes)
      problem(fmt::format("{} has {} classes, in the training it had {}", named(own), own.classes, trained.classes));
    return {};
  }

  // Notes parts without names on one side, which names cannot match.
  void places(const InputComponent& trained, const InputComponent& own) {
    const auto add = [&](const std::string& what, bool training_names) {
      by_place.push_back(prefix_ + (training_names ? "does not name the " + what + " of " + named(own) +
                                                         ", and the training did: they are taken by their places"
                                                   : "names the " + what + " of " + named(own) +
                                                         ", and the training did not: they are taken by their places"));
    };
    if (trained.columns.empty() != own.columns.empty() && std::max(trained.columns.size(), own.columns.size()) > 1)
      add("columns", own.columns.empty());
    const std::vector<std::string>& names = own.class_names.empty() ? trained.class_names : own.class_names;
    if (trained.class_names.empty() != own.class_names.empty() && names.size() > 1 && !are_numbers(names))
      add("classes", own.class_names.empty());
  }

  void form(const InputComponent& trained, const InputComponent& own) {
    const bool named_columns = !trained.columns.empty() && !own.columns.empty();
    if (trained.dtype != own.dtype || (!named_columns && !same_rows(trained.dims, own.dims)))
      problem(named(own) + " is " + form_of(own) + ", in the training it was " + form_of(trained));
  }

  void kept(const Schema& trained, const Schema& own, const MatchedInput& input) {
    const auto is_own = [&](const std::string& name) {
      return input.written.contains(option_of(name)) || is_for_own_elements(name, input.said);
    };
    const bool other_plugin = !trained.plugin.empty() && trained.plugin != own.plugin;
    for (const auto& [name, value] : trained.kept) {
      if (is_own(name)) continue;
      const auto here = own.kept.find(name);
      if (here == own.kept.end() && other_plugin &&
          (is_place_in_file(name, value, trained.components) || is_fact_of_label(name, trained.components)))
        continue;
      if (here == own.kept.end())
        problem("does not use " + double_quoted(name) + ", which the training fitted (" + kept_text(value) +
                (!other_plugin ? ")"
                               : "); it is the input " + double_quoted(own.plugin) + ", the training's is " +
                                     double_quoted(trained.plugin)));
      else if (!same_kept(here->second, value))
        problem("has another " + double_quoted(name) + " (" + kept_text(here->second) + ") than the training (" +
                kept_text(value) + ")");
    }
    if (trained.features_alone) return;
    for (const auto& [name, value] : own.kept)
      if (!trained.kept.contains(name) && !is_own(name))
        problem("fits " + double_quoted(name) + " (" + kept_text(value) + "), which the training did not");
  }

  void missing(const InputComponent& trained, const std::vector<const InputComponent*>& there) {
    problem("has no " + named(trained) + ", which the training had; " +
            (there.empty() ? std::string("it has none") : "it has: " + joined(names_of(there))));
  }
  void extra(const InputComponent& own) { problem("has the " + named(own) + ", which the training did not have"); }

  void problem(const std::string& text) { problems.push_back(prefix_ + text); }

  std::vector<std::string> problems, by_place;

 private:
  const std::string prefix_;
};

InputComponent adopted(const InputComponent& trained, const InputComponent& own) {
  InputComponent c = own;
  c.columns = trained.columns.empty() ? own.columns : trained.columns;
  if (trained.classes > 0) c.classes = trained.classes;
  if (!trained.class_names.empty()) c.class_names = trained.class_names;
  return c;
}

}  // namespace

SchemaMatch match_schema(const Schema& trained, const Schema& own, const MatchedInput& input) {
  SchemaMatch match;
  Matcher matcher(input);
  std::set<const InputComponent*> taken;
  const auto slot_of = [&](const InputComponent* c) { return static_cast<std::size_t>(c - own.components.data()); };
  const auto take = [&](const InputComponent& wanted, const InputComponent& here) {
    taken.insert(&here);
    match.sources_.push_back({slot_of(&here), matcher.columns(wanted, here), matcher.classes(wanted, here)});
    matcher.form(wanted, here);
    matcher.places(wanted, here);
    match.components.push_back(adopted(wanted, here));
  };
  for (const bool label : {false, true}) {
    const std::vector<const InputComponent*> wanted = used(trained.components, label);
    const std::vector<const InputComponent*> there = used(own.components, label);
    const bool needed = !label || (input.use != InputUse::kPrediction && !trained.features_alone);
    const bool only_one = label && wanted.size() == 1 && there.size() == 1;
    for (const InputComponent* w : wanted) {
      const InputComponent* here = only_one ? there[0] : find(there, w->name);
      if (here != nullptr && needed)
        take(*w, *here);
      else if (needed && !input.common_alone)
        matcher.missing(*w, there);
    }
    if (needed && !input.common_alone)
      for (const InputComponent* here : there)
        if (!taken.contains(here)) matcher.extra(*here);
  }
  // These are only ids, or compared with nothing. A prediction's label is left out.
  for (const InputComponent& c : own.components) {
    const bool is_id = is_only_an_id(own.components, c), is_compared = !input.common_alone && !trained.features_alone;
    const bool left_out = c.label ? is_compared || input.use == InputUse::kPrediction : !input.common_alone;
    if (taken.contains(&c) || (!is_id && left_out)) continue;
    match.sources_.push_back({slot_of(&c), {}, {}});
    match.components.push_back(c);
  }
  matcher.kept(trained, own, input);
  match.problems = std::move(matcher.problems);
  match.by_place = std::move(matcher.by_place);
  match.identical_ = match.sources_.size() == own.components.size();
  for (std::size_t i = 0; i < match.sources_.size(); ++i) {
    const SchemaMatch::Source& s = match.sources_[i];
    if (s.slot != i || !s.columns.empty() || !s.classes.empty()) match.identical_ = false;
  }
  return match;
}

// ---- comparing

namespace {

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

// Puts the fitted values of the columns from the order of `now` into the order of `trained`.
std::vector<double> in_order_of(const Schema& trained, const Schema& now, const std::vector<double>& values) {
  for (const InputComponent& c : trained.components)
    for (const InputComponent& here : now.components) {
      if (here.name != c.name || here.columns.size() != values.size() || sorted(c.columns) != sorted(here.columns))
        continue;
      std::vector<double> ordered;
      for (const std::size_t place : places_of<std::size_t>(c.columns, here.columns)) ordered.push_back(values[place]);
      return ordered;
    }
  return values;
}

// True if the numbers are equal, except for the rounding of another order of rows.
bool same_numbers(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double kRounding = 1e-6;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::abs(x - y) <= kRounding * std::max(std::abs(x), std::abs(y));
  });
}

bool same_fit(const Schema& trained, const Schema& now, const KeptValue& was, const KeptValue& is) {
  const auto *a = std::get_if<std::vector<double>>(&was), *b = std::get_if<std::vector<double>>(&is);
  if (a != nullptr && b != nullptr) return same_numbers(*a, in_order_of(trained, now, *b));
  return same_kept(was, is);
}

class Differences {
 public:
  void columns(const InputComponent& was, const InputComponent& is) {
    one_sided("column", missing_in(is.columns, was.columns), named(was), "new");
    one_sided("column", missing_in(was.columns, is.columns), named(was), "gone");
  }

  void component(const InputComponent& was, const InputComponent& is) {
    const bool has_columns = !was.columns.empty() && !is.columns.empty();
    if (has_columns) columns(was, is);
    if (was.dtype != is.dtype || (!has_columns && !same_rows(was.dims, is.dims)))
      found.push_back(named(was) + " was " + form_of(was) + ", is " + form_of(is));
    if (!was.class_names.empty() && !is.class_names.empty()) {
      if (sorted(was.class_names) != sorted(is.class_names))
        found.push_back("classes of " + named(was) + " differ: the training had " + words_text(was.class_names) +
                        "; now " + words_text(is.class_names));
    } else if (was.classes != is.classes && was.classes > 0 && is.classes > 0) {
      found.push_back(fmt::format("{} had {} classes, has {}", named(was), was.classes, is.classes));
    }
  }

  void kept(const Schema& trained, const Schema& now) {
    for (const auto& [name, value] : trained.kept) {
      const auto here = now.kept.find(name);
      if (here == now.kept.end())
        found.push_back("fitted " + double_quoted(name) + " is gone: the training had " + kept_text(value));
      else if (!same_fit(trained, now, value, here->second))
        found.push_back("fitted " + double_quoted(name) + " differs: the training had " + kept_text(value) + "; now " +
                        kept_text(here->second));
    }
    for (const auto& [name, value] : now.kept)
      if (!trained.kept.contains(name))
        found.push_back("fitted " + double_quoted(name) + " is new: " + kept_text(value));
  }

  std::vector<std::string> found;

 private:
  void one_sided(const std::string& what, const std::vector<std::string>& names, const std::string& of,
                 const std::string& how) {
    if (names.empty()) return;
    const bool many = names.size() > 1;
    found.push_back(what + (many ? "s " : " ") + words_text(names) + " of " + of + (many ? " are " : " is ") + how);
  }
};

}  // namespace

std::vector<std::string> differences_between(const Schema& trained, const Schema& now) {
  Differences differences;
  const auto same_in = [](const Schema& schema, const InputComponent& c) {
    const auto found = std::find_if(schema.components.begin(), schema.components.end(),
                                    [&](const auto& other) { return other.name == c.name && other.label == c.label; });
    return found == schema.components.end() ? nullptr : &*found;
  };
  for (const InputComponent& was : trained.components)
    if (const InputComponent* is = same_in(now, was))
      differences.component(was, *is);
    else
      differences.found.push_back(named(was) + " is gone");
  for (const InputComponent& is : now.components)
    if (same_in(trained, is) == nullptr) differences.found.push_back(named(is) + " is new");
  differences.kept(trained, now);
  return std::move(differences.found);
}

SchemaMatch unmatched(const Schema& own) {
  SchemaMatch match;
  match.components = own.components;
  return match;
}

namespace {

// Returns the tensor with its last dimension in another order.
DenseTensor with_columns(const DenseTensor& from, const std::vector<std::size_t>& columns, BufferPool& pool) {
  const belay_tensor source = from.view();
  DenseTensor made(static_cast<DType>(source.dtype), from.dims(), &pool);
  const std::size_t size = dtype_size(static_cast<DType>(source.dtype)), row = size * columns.size();
  const auto* in = static_cast<const char*>(source.data);
  auto* out = static_cast<char*>(made.view().data);
  const std::size_t rows = row == 0 ? 0 : source.bytes / row;
  for (std::size_t r = 0; r < rows; ++r, in += row)
    for (const std::size_t column : columns)
      out = static_cast<char*>(std::memcpy(out, in + column * size, size)) + size;
  return made;
}

template <class T>
void renumber(const belay_tensor& tensor, const std::vector<std::int64_t>& classes, const std::string& name) {
  auto* values = static_cast<T*>(tensor.data);
  for (std::size_t i = 0; i < tensor.bytes / sizeof(T); ++i) {
    const auto number = static_cast<std::uint64_t>(values[i]);
    if (number >= classes.size())
      fail(Code::kInvalidArgument, fmt::format("[B3007] \"{}\" has the class {}, and the input declared {} classes",
                                               name, values[i], classes.size()));
    values[i] = static_cast<T>(classes[number]);
  }
}

void renumber(const belay_tensor& tensor, const std::vector<std::int64_t>& classes, const std::string& name) {
  switch (static_cast<DType>(tensor.dtype)) {
    case DType::kUInt8: return renumber<std::uint8_t>(tensor, classes, name);
    case DType::kInt32: return renumber<std::int32_t>(tensor, classes, name);
    default: return renumber<std::int64_t>(tensor, classes, name);
  }
}

}  // namespace

bool SchemaMatch::moves_elements() const noexcept {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const Source& s) { return !s.columns.empty() || !s.classes.empty(); });
}

void SchemaMatch::arrange(std::vector<DenseTensor>& batch, BufferPool& pool) const {
  if (identical_) return;
  std::vector<DenseTensor> arranged;
  arranged.reserve(sources_.size());
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& s = sources_[i];
    arranged.push_back(s.columns.empty() ? std::move(batch[s.slot]) : with_columns(batch[s.slot], s.columns, pool));
    if (!s.classes.empty()) renumber(arranged.back().view(), s.classes, components[i].name);
  }
  batch = std::move(arranged);
}

std::vector<std::pair<std::string, std::string>> schema_rows(const Schema& schema) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const InputComponent& c : schema.components) {
    if (!c.columns.empty()) rows.emplace_back("columns of " + double_quoted(c.name), words_text(c.columns));
    if (are_numbers(c.class_names)) continue;
    std::vector<std::string> numbered;
    for (std::size_t i = 0; i < c.class_names.size(); ++i)
      numbered.push_back(fmt::format("{} {}", i, double_quoted(c.class_names[i])));
    constexpr std::size_t kShown = 20;
    const std::size_t more = numbered.size() > kShown ? numbered.size() - kShown : 0;
    numbered.resize(numbered.size() - more);
    rows.emplace_back("classes of " + double_quoted(c.name),
                      joined(numbered) + (more == 0 ? "" : fmt::format(" and {} more", more)));
  }
  for (const auto& [name, value] : schema.kept) rows.emplace_back("fitted " + escaped(name), kept_text(value));
  return rows;
}

}  // namespace belay::runtime
