// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/tables/new_manifest.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/cli/arguments/command.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/text/shell_word.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kBatch = 64;
constexpr std::int64_t kManyRows = 1000;  // with so many rows, a word of fewer than five rows counts as unknown

// Words are classes, and so are the numbers 0 to k - 1 and 1 to k.
bool is_class(const ColumnProfile& label) {
  const auto parsed = [](const std::string& word) {
    double value = 0;
    read_number(word, value);
    return value;
  };
  if (label.type != "number") return true;
  if (!label.whole || label.many || label.different > static_cast<std::int64_t>(label.words.size())) return false;
  return std::all_of(label.words.begin(), label.words.end(),
                     [&](const auto& word) { return parsed(word.first) <= static_cast<double>(label.different); });
}

// Returns the line `classes` for labels that are numbers other than 0 to k - 1, or have leading zeros; else nothing.
// Without it there are classes without a row, and "01" is the class 1.
std::string classes_of(const ColumnProfile& label) {
  if (label.type != "number") return "";
  std::vector<std::pair<double, std::string>> classes;
  for (const auto& [word, rows] : label.words) {
    classes.emplace_back(0, word);
    read_number(word, classes.back().first);
  }
  std::sort(classes.begin(), classes.end());
  bool are_numbers = label.leading_zero.empty();
  std::string list;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    are_numbers = are_numbers && classes[i].first == static_cast<double>(i);
    list += (i == 0 ? "" : ", ") + toml_string(classes[i].second);
  }
  return are_numbers ? "" : "classes = [" + list + "]\n";
}

// Refuses a label that no training can use.
void check_label(const ColumnProfile& label, const std::string& path) {
  if (label.gaps != 0)
    fail(Code::kFailedPrecondition, "[B5012] --label: " + count_text(static_cast<std::uint64_t>(label.gaps), "row") +
                                        " of '" + path + (label.gaps == 1 ? "' has no \"" : "' have no \"") +
                                        label.name + "\"; remove these rows");
  if (label.type == "number" && !label.strangers.empty())
    fail(Code::kFailedPrecondition, "[B5012] --label: \"" + label.name + "\" holds numbers, and also \"" +
                                        label.strangers[0] + "\"; repair these rows");
  if (!label.misread.empty())
    fail(Code::kFailedPrecondition, "[B5012] --label: \"" + label.name + "\": " + label.misread);
  if (label.type == "ignore" || label.type == "text" || label.type == "date")
    fail(
        Code::kInvalidArgument,
        fmt::format(
            "[B5012] --label: \"{}\" is neither a number nor a class: it has {} different cells; choose another column",
            label.name, label.different));
  if (label.different < 2)
    fail(Code::kInvalidArgument,
         "[B5012] --label: each row has the same \"" + label.name + "\"; there is nothing to learn");
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + toml_string(text);
  return "[" + list + "]";
}

// The cells of a column that mean a gap: the usual ones, and those of numbers or dates that are none.
std::vector<std::string> gaps_of(const ColumnProfile& column) {
  std::vector<std::string> gaps(std::begin(kGaps), std::end(kGaps));
  gaps.insert(gaps.end(), column.strangers.begin(), column.strangers.end());
  return gaps;
}

std::string type_of(const ColumnProfile& column) {
  const bool has_other_numbers = column.type == "number" && !column.misread.empty();
  return column.constant || column.id || column.more_strangers || has_other_numbers ? "ignore" : column.type;
}

// Returns the entry of one column, "{ type = ... }".
std::string entry_of(const ColumnProfile& column, bool tabular) {
  const std::string type = type_of(column);
  std::string keys = "type = \"" + type + "\"";
  if (type == "number" && (column.gaps != 0 || !column.strangers.empty())) keys += ", indicator = true";
  if (type == "category" && column.rows >= kManyRows) keys += ", min_count = 5";
  if (type == "category" && tabular) keys += ", deliver = \"ids\"";
  if (type == "date" && !column.formats.empty()) keys += ", formats = " + toml_list(column.formats);
  if (type != "ignore" && !column.strangers.empty()) keys += ", gaps = " + toml_list(gaps_of(column));
  return "{ " + keys + " }";
}

std::string comment_of(const ColumnProfile& column) {
  if (column.constant) return "constant";
  if (column.id) return "like an id";
  if (column.different == 0) return "no values";
  if (column.more_strangers)
    return std::string(column.type == "date" ? "dates" : "numbers") + ", and many other words such as " +
           double_quoted(column.strangers[0]) + "; repair it, and give it a type";
  if (column.type == "number" && !column.misread.empty()) return column.misread + ", and give the column a type";
  if (!column.misread.empty()) return "numbers that are words here; write digits and a decimal point alone";
  if (column.type == "ignore") return "most rows have another cell";
  const std::string gaps = column.gaps == 0 ? "" : "; " + count_text(static_cast<std::uint64_t>(column.gaps), "gap");
  std::string words;
  for (const std::string& word : column.strangers) words += (words.empty() ? "; these become gaps: " : ", ") + word;
  const std::string code =
      column.leading_zero.empty() ? "" : "; if cells such as " + column.leading_zero + " are codes: category";
  std::string formats;
  for (const std::string& format : column.other_formats) formats += "; or \"" + format + "\": other days";
  return column.values + gaps + words + code + formats;
}

// Returns how the manifest names a column: by its number if the name is empty or occurs twice. A number that is the
// name of another column means that one, so the number counts from the end then.
std::string reference_to(const csv::File& file, std::size_t column) {
  const std::vector<std::string>& names = file.columns();
  const auto count = [&](const std::string& name) { return std::count(names.begin(), names.end(), name); };
  if (!names[column].empty() && count(names[column]) == 1) return names[column];
  const std::string number = std::to_string(column);
  return count(number) == 0 ? number : "-" + std::to_string(names.size() - column);
}

std::string columns_of(const csv::File& file, const TableProfile& table, std::size_t label, bool tabular) {
  std::string text;
  std::size_t widest = 0;
  std::vector<std::pair<std::string, std::string>> lines;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i == label) continue;
    const ColumnProfile& column = table.columns[i];
    lines.emplace_back(toml_key(reference_to(file, i)) + " = " + entry_of(column, tabular), comment_of(column));
    widest = std::max(widest, std::min<std::size_t>(display_width(lines.back().first), 50));
  }
  for (const auto& [entry, comment] : lines) {
    const std::size_t width = display_width(entry);
    text += entry + std::string(width < widest ? widest - width : 0, ' ') + "  # " + escaped(comment) + "\n";
  }
  return text;
}

// Refuses a table of which nothing is left to learn from.
void check_features(const TableProfile& table, std::size_t label) {
  std::string why;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnProfile& column = table.columns[i];
    if (i == label) continue;
    if (type_of(column) != "ignore") return;
    why += (why.empty() ? "" : ", ") + double_quoted(column.name) + " (" + comment_of(column) + ")";
  }
  fail(Code::kFailedPrecondition, "[B5012] no column besides the label can be a feature" +
                                      (why.empty() ? "" : ": " + why) +
                                      "; give a table with columns of numbers, words or dates, or another --delimiter");
}

// A fifth of fewer than five rows may be none.
std::string rare_classes(const NewManifest& m, const ColumnProfile& label) {
  std::string text;
  for (const auto& [word, rows] : label.rare)
    text += "# Class " + toml_string(word) + " has " + count_text(static_cast<std::uint64_t>(rows), "row") +
            (rows == 1 && m.split != "every" ? ", which is for the training: the evaluation has none of it.\n"
                                             : ", so the evaluation may have none of it.\n");
  return text;
}

// Returns the lines that name the files and split their rows. Training and evaluation have the same lines.
std::string files_of_input(const NewManifest& m, char delimiter, bool has_classes) {
  std::string text = "plugin = \"csv\"\npath = " +
                     (m.data.paths.size() == 1 ? toml_string(m.data.paths[0]) : toml_list(m.data.paths)) + "\n";
  if (!m.data.header) text += "header = false\n";
  if (m.data.skip_lines != 0) text += "skip_lines = " + std::to_string(m.data.skip_lines) + "\n";
  if (delimiter != ',') text += "delimiter = " + toml_string(std::string(1, delimiter)) + "\n";
  if (m.split == "every")
    return text + "every = 5                     # each fifth row is for the evaluation\nat = 4\n";
  if (has_classes) text += "split_by = \"stratify\"         # each part has the same share of each class\n";
  return text + "eval_fraction = 0.2           # share of the rows that is for the evaluation\n";
}

// Returns the line `positive_class` for two classes of words: the rarer one. Else nothing.
std::string positive_class(const ColumnProfile& label) {
  if (label.type == "number" || label.words.size() != 2) return "";
  return "positive_class = " + toml_string(label.words[1].first) + "  # F1, AUC and threshold are about it\n";
}

std::string model_of(const NewManifest& m, const ColumnProfile& label, bool has_classes) {
  if (!m.has_tabular)
    return "[model]\nplugin = \"mlp\"\nhidden = [64, 32]\n" + (has_classes ? positive_class(label) : "");
  return std::string("[model]\nplugin = \"tabular\"\nhidden = [64, 32]\n") +
         (has_classes ? "loss = \"cross_entropy\"\n" + positive_class(label)
                      : "loss = \"squared\"\nlabel_scale = \"standard\"\n");
}

// Names of manifests may have capitals, unlike those of plugins.
bool is_file_name(std::string_view name) {
  constexpr std::size_t kMost = 63;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && name.size() <= kMost && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; });
}

}  // namespace

std::string manifest_text(const NewManifest& m) {
  char delimiter = ',';
  const csv::File file = open_table(m.data, delimiter);
  const std::size_t at = file.find_column("--label", m.label);
  const TableProfile table = profile_table(file, at, Gaps(std::begin(kGaps), std::end(kGaps)));
  if (table.damaged != 0)
    fail(Code::kDataLoss, table.damage + "; " + count_text(static_cast<std::uint64_t>(table.damaged), "row") +
                              " cannot be read; repair the table first");
  if (!file.not_utf8().empty())
    fail(Code::kDataLoss, "[B3032] " + file.not_utf8() +
                              ": this is no UTF-8, and a manifest is; convert the table (iconv -f LATIN1 -t UTF-8)");
  const ColumnProfile& label = table.columns[at];
  check_label(label, m.data.paths[0]);
  check_features(table, at);
  const bool has_classes = is_class(label);
  const std::int64_t epoch = std::max<std::int64_t>(1, table.rows * 4 / 5 / kBatch);
  const std::int64_t period = std::clamp<std::int64_t>(epoch, 20, 2000);
  const std::string max_steps = std::to_string(100 * period), files = files_of_input(m, delimiter, has_classes);
  std::string text =
      "# Predicts " + toml_string(label.name) + " by the other columns of " + std::to_string(table.rows) + " rows.\n" +
      (has_classes ? rare_classes(m, label) : "") +
      "[run]\nmode = \"train_and_evaluate\"\ndir = " + toml_string("runs/" + m.name) + "\nmax_steps = " + max_steps +
      "\n\n[input.train]\n" + files + "label = " + toml_string(reference_to(file, at)) + "\nlabel_type = \"" +
      (has_classes ? "class" : "float") + "\"\n" + (has_classes ? classes_of(label) : "") +
      "split = \"train\"\nstandardize = true            # numbers have mean 0 and deviation 1\nbatch_size = " +
      std::to_string(kBatch) + "\nshuffle = true\n\n";
  text += "[input.train.columns]\n" + columns_of(file, table, at, m.has_tabular);
  text += "\n[input.eval]\n" + files + "split = \"eval\"\nbatch_size = 500\nepochs = 1\n\n";
  text += model_of(m, label, has_classes);
  text +=
      "\n[optimizer]\nname = \"adam\"\nlearning_rate = 0.001\n\n[checkpoint]\nsave_steps = " + std::to_string(period) +
      "\nkeep_best = 1\nbest_metric = \"eval/loss\"\n\n[[hooks]]\nplugin = \"early_stopping\"\ntensor = "
      "\"eval/loss\"\npatience = 10                 # evaluations without an improvement\n\n[[hooks]]\nplugin = "
      "\"restore_best\"        # the run ends with the weights of the best evaluation\n";
  return text;
}

int new_manifest(const NewManifest& m, FileSystem& files, const std::string& directory, std::ostream& out,
                 std::ostream& err) {
  if (!is_file_name(m.name))
    throw UsageError("[B5008] belay new manifest: \"" + escaped(m.name) +
                     "\" cannot be a name; a name begins with a letter, and has letters, digits, _ and -, at most 63");
  const auto parent = files.open_directory(directory);
  const std::string name = m.name + ".toml";
  if (parent->exists(name))
    throw UsageError("[B5007] belay new manifest: \"" + name + "\" is there already; choose another name or remove it");
  try {
    const std::string text = manifest_text(m);
    const auto file = parent->create(name);
    file->write(text.data(), text.size());
    file->close();
  } catch (const Error& e) {
    err << error_line(e.what()) << "\n";
    return kExitUsage;
  }
  out << "made " << name << "\n\n  belay check " << name << "\n  belay run " << name << "\n";
  return kExitDone;
}

}  // namespace belay::runtime
