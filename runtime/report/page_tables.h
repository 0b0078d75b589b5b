// SPDX-License-Identifier: Apache-2.0
// The parts of a page with words and numbers, each as markup. [any thread]
#pragma once

#include <string>
#include <vector>

#include "runtime/report/run_record.h"

namespace belay::runtime {

std::string badge_of(const RunRecord& run);
std::string subtitle_of(const RunRecord& run);
std::string tiles_of(const RunRecord& run);

// These return tables; empty: there would be no row.
std::string metrics_table(const std::vector<RunRecord>& runs);
std::string differences_table(const std::vector<RunRecord>& runs);
std::string attempts_table(const RunRecord& run);
std::string checkpoints_table(const RunRecord& run);
std::string layers_table(const RunRecord& run);
std::string changes_table(const RunRecord& run);
std::string time_table(const RunRecord& run);
std::string manifest_table(const RunRecord& run);
std::string schema_table(const Schema& schema);
// `names` are those of the rows and columns, if there are as many.
std::string matrix_table(const Matrix& matrix, const std::vector<std::string>& names = {});

// Draws the attempts as bars over the time, with the events between them.
std::string timeline_of(const RunRecord& run);

}  // namespace belay::runtime
