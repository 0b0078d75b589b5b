// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/page.h"

#include <utility>

#include "runtime/platform/text/coded_message.h"
#include "runtime/report/compared_runs.h"
#include "runtime/report/markup.h"
#include "runtime/report/page_style.h"
#include "runtime/report/page_tables.h"
#include "runtime/report/run_charts.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMostDrawnLayers = 150;

class PageWriter {
 public:
  explicit PageWriter(const std::vector<RunRecord>& runs) : runs_(runs), charts_(charts_of(runs)) {}

  std::string write(std::int64_t written_ns) {
    for (const ChartSection& s : charts_.sections) add_charts(s);
    if (several()) add_comparison();
    for (const RunRecord& run : runs_) add_run(run);
    std::string page = head();
    page += "<main>\n" + body_ + "</main>\n<footer>Written by belay report at " +
            moment_text(static_cast<double>(written_ns) * 1e-9) +
            " UTC. Times are in UTC. A shaded band is the range of the values that a line is the mean of.</footer>\n";
    return page + "</body>\n</html>\n";
  }

 private:
  bool several() const { return runs_.size() > 1; }

  std::string title() const { return several() ? std::to_string(runs_.size()) + " runs" : name_of_run(runs_[0]); }

  std::string head() const {
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
        "data:\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>" +
        html(title()) + "</title>\n<style>" + kPageStyle + "</style>\n</head>\n<body>\n<header>\n<h1>" + html(title()) +
        (several() ? "" : " " + badge_of(runs_[0])) + "</h1>\n";
    if (!several()) out += subtitle_of(runs_[0]) + tiles_of(runs_[0]);
    out += "<nav>";
    for (const auto& [anchor, heading] : anchors_) out += "<a href=\"#" + anchor + "\">" + html(heading) + "</a>";
    return out + "</nav>\n</header>\n";
  }

  void add_heading(const std::string& heading, const std::string& anchor, const RunRecord* run = nullptr) {
    // If there are several runs, each has separate sections.
    const std::string id =
        run == nullptr || !several() ? anchor : anchor + "-" + std::to_string(run - runs_.data() + 1);
    const std::string words = run == nullptr || !several() ? heading : name_of_run(*run) + ": " + heading;
    if (run == nullptr || !several()) anchors_.emplace_back(id, heading);
    body_ += "<h2 id=\"" + id + "\">" + html(words) + "</h2>\n";
  }

  void add_charts(const ChartSection& section) {
    add_heading(section.heading, section.anchor);
    body_ += "<div class=\"charts\">\n";
    for (const RunChart& c : section.charts) {
      body_ += "<figure><figcaption>" + html(c.chart.title) +
               (is_logarithmic(c.chart) ? " <span class=\"soft\">(logarithmic)</span>" : "") + "<div class=\"legend\">";
      for (std::size_t i = 0; i < c.chart.lines.size(); ++i) {
        const ChartLine& line = c.chart.lines[i];
        body_ += "<span><span class=\"key k" + std::to_string(line.colour % 8) + (line.dashed ? " dashed" : "") +
                 "\"></span>" + html(line.name) + (c.remarks[i].empty() ? "" : ": " + html(c.remarks[i])) + "</span>";
      }
      body_ += "</div></figcaption>" + svg_of(c.chart) + "</figure>\n";
    }
    body_ += "</div>\n";
    if (&section == &charts_.sections.back() && charts_.left_out != 0)
      body_ += "<p class=\"soft\">" + std::to_string(charts_.left_out) +
               " more curves are left out for the page's size; belay events prints them.</p>\n";
  }

  void add_card(const std::string& content) { body_ += "<div class=\"card\">\n" + content + "</div>\n"; }

  void add_comparison() {
    add_heading("Best and last values", "values");
    add_card(metrics_table(runs_));
    add_heading("Differences of the manifests", "manifest");
    add_card(differences_table(runs_));
  }

  void add_run(const RunRecord& run) {
    if (several()) {
      body_ += "<h2>" + html(name_of_run(run)) + " " + badge_of(run) + "</h2>\n" + subtitle_of(run) + tiles_of(run);
    } else if (const std::string table = metrics_table(runs_); !table.empty()) {
      add_heading("Best and last values", "values");
      add_card(table);
    }
    if (!run.attempts.empty()) {
      add_heading("Attempts and time", "attempts", &run);
      body_ += timeline_of(run);
      add_card(attempts_table(run));
      if (const std::string shares = time_table(run); !shares.empty()) {
        body_ += "<h3>Where the time of the training went</h3>\n";
        add_card(shares);
      }
    }
    if (!run.checkpoints.all.empty()) {
      add_heading("Checkpoints", "checkpoints", &run);
      add_card(checkpoints_table(run));
    }
    add_pictures(run);
    add_data(run);
    add_model(run);
    add_manifest(run);
    add_notes(run);
  }

  void add_pictures(const RunRecord& run) {
    const Pictures& p = run.pictures;
    if (!p.histograms.empty()) {
      add_heading("Histograms", "histograms", &run);
      body_ += "<div class=\"charts\">\n";
      for (const HistogramsOfTag& h : p.histograms)
        body_ += "<figure><figcaption>" + html(h.name) + "</figcaption>" + svg_of(h) + "</figure>\n";
      body_ += "</div>\n";
    }
    if (!p.images.empty()) add_heading("Images", "images", &run);
    for (const ImagesOfTag& images : p.images) {
      body_ += "<h3>" + html(images.name) + "</h3>\n<div class=\"images\">\n";
      for (const Image& i : images.steps)
        body_ += "<div><img alt=\"" + html(images.name) + " at step " + std::to_string(i.step) +
                 "\" src=\"data:" + i.type + ";base64," + base64(i.bytes) + "\"/>step " + std::to_string(i.step) +
                 "</div>\n";
      body_ += "</div>\n";
    }
    if (!p.matrices.empty()) add_heading("Matrices", "matrices", &run);
    for (const MatrixOfTag& m : p.matrices) {
      body_ += "<h3>" + html(m.name) + ", step " + std::to_string(m.step) + "</h3>\n";
      add_card(matrix_table(m.rows, run.schema ? class_names_of(run.schema->components) : std::vector<std::string>()));
    }
    if (!p.texts.empty()) add_heading("Texts", "texts", &run);
    for (const TextOfTag& t : p.texts) {
      body_ += "<h3>" + html(t.name) + ", step " + std::to_string(t.step) + "</h3>\n";
      add_card("<pre>" + html(t.text, true) + "</pre>");
    }
  }

  void add_data(const RunRecord& run) {
    if (!run.schema || schema_rows(*run.schema).empty()) return;
    add_heading("Facts learned from the data", "data", &run);
    add_card(schema_table(*run.schema));
  }

  void add_model(const RunRecord& run) {
    if (run.layers.empty()) return;
    add_heading("Model", "model", &run);
    add_card(layers_table(run));
    if (run.layers.size() > kMostDrawnLayers) return;
    body_ += "<details><summary>drawing</summary><div class=\"card scroll\">" +
             svg_of(run.layers, "the model by layers", false) + "</div></details>\n";
  }

  void add_manifest(const RunRecord& run) {
    if (run.manifest.empty()) return;
    add_heading("Manifest", "options", &run);
    if (run.attempts.size() > 1 || !run.changes.empty()) {
      body_ += "<h3>What changed between attempts</h3>\n";
      run.changes.empty() ? void(body_ += "<p>Nothing.</p>\n") : add_card(changes_table(run));
    }
    body_ += "<details" + std::string(several() ? "" : " open=\"open\"") +
             "><summary>all keys, as the last attempt had them" + "</summary>\n";
    add_card(manifest_table(run));
    body_ += "</details>\n";
  }

  void add_notes(const RunRecord& run) {
    std::vector<std::string> notes;
    if (!run.last_words.empty()) notes.push_back(run.last_words);
    if (run.redone_points != 0)
      notes.push_back(std::to_string(run.redone_points) +
                      " values of steps that a later attempt did again are left out; belay events --all prints them");
    for (const EventProblem& p : run.problems) notes.push_back((p.damage ? "damaged: " : "") + shown_code(p.text));
    for (const std::string& what : run.pictures.left_out) notes.push_back("left out: " + what);
    if (notes.empty()) return;
    add_heading("Notes", "notes", &run);
    std::string list = "<table>\n";
    for (const std::string& n : notes) list += "<tr><td class=\"wide\">" + html(n) + "</td></tr>\n";
    add_card(list + "</table>\n");
  }

  const std::vector<RunRecord>& runs_;
  const RunCharts charts_;
  std::string body_;
  std::vector<std::pair<std::string, std::string>> anchors_;
};

}  // namespace

std::string page_of(const std::vector<RunRecord>& runs, std::int64_t written_ns) {
  return PageWriter(runs).write(written_ns);
}

}  // namespace belay::runtime
