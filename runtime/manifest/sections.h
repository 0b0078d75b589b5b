// SPDX-License-Identifier: Apache-2.0
// The keys of the sections with their ranges: one declaration for reading, showing and listing.
#pragma once

#include "runtime/manifest/fields.h"
#include "runtime/manifest/manifest.h"
#include "runtime/manifest/parse.h"

namespace belay::runtime {

void visit(Fields& f, RunSettings& run);
void visit(Fields& f, PluginsSection& plugins);
void visit(Fields& f, OptimizerSettings& optimizer);
void visit(Fields& f, CheckpointSettings& checkpoint);
void visit(Fields& f, EvalSettings& eval);
void visit(Fields& f, PredictSettings& predict);
void visit(Fields& f, SessionSettings& session);
void visit(Fields& f, MetricSection& metric);

// Visits the reserved keys of a plugin's table.
void visit(Fields& f, PluginUse& use, PluginTable table);
void visit(Fields& f, InputSection& input);
void visit(Fields& f, ExporterSection& exporter);
void visit(Fields& f, ClusterSection& cluster);
// Visits them with their defaults.
void visit_reserved(Fields& f, PluginTable table);

// Returns [run] or [[hooks]], the start of the section in a manifest.
std::string section_header(const std::string& section);

// Returns "eval" for "eval/loss", "eval_hard" for "eval_hard/loss"; empty: it is no metric of an evaluation.
std::string evaluation_input_of(const std::string& metric);

// Accepts at most 63 letters, digits, '_', '-' and '.'.
bool is_instance_name(const std::string& name);

}  // namespace belay::runtime
