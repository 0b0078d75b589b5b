// SPDX-License-Identifier: Apache-2.0
// Columns of a table with types: words, gaps, dates and text become numbers for a model. What a column fitted on the
// training's rows belongs to the model. All other inputs of the model apply it unchanged.
//
//   std::vector<ColumnOptions> all = parse_columns("columns", options.columns);    // the manifest's table
//   ColumnFit fit(all[0], gaps);
//   for (std::string_view cell : training_cells) fit.add(cell);
//   Column column = fit.finish();
//   column.keep(spec);                                                             // in spec
//   const char* wrong = column.write(cell, out);                                   // column.width() floats
//
// Another input of the model has no ColumnFit: Column::learned(spec, name) returns the training's column. ColumnGuess
// finds a type from cells if the manifest has none.
//
//   type       options                                        delivers
//   number     gaps, missing, scale, buckets, indicator       the number, or a 1 in the place of its bucket
//   category   gaps, missing, min_count, max_size,            a 1 in the place of the word, or its id
//              hash_buckets, deliver
//   date       gaps, missing, scale, indicator, formats,      parts of the date
//              parts, cycles
//   text       gaps, min_count, max_size                      how often each word of the vocabulary occurs
//   id, weight, ignore                                        nothing; the input decides
//
//   gaps          cells that mean a missing value, in place of those that all columns have
//   missing       number: "median" (default), "mean", a number, or "error"; category: "own" (default) or "error";
//                 date: "median" (default) or "error"
//   scale         "standard": (x - mean) / deviation; "minmax": (x - min) / (max - min); "log": sign(x) ln(1 + |x|);
//                 "none". All measure the training's rows after the gaps are filled. Dates: of year and days
//   buckets       ascending limits, or a number of buckets with equally many rows; limit[i-1] <= x < limit[i] is in
//                 bucket i
//   indicator     true: another number is 1 for a gap and 0 otherwise
//   min_count     fewest rows of a word of the vocabulary
//   max_size      most words, the most frequent first; 0: all
//   hash_buckets  no vocabulary: the id is the word's FNV-1a hash of 64 bits modulo this number
//   deliver       "one_hot", or "ids" for a model with embeddings. Ids: the words from 0, then one for unknown words,
//                 then one for gaps. "one_hot" has these two only if the training's rows had such cells
//   formats       of %Y or %y, %m or %b (a month's name in English), %d, %H or %I with %p (AM, PM), %M %S and others;
//                 default: ISO 8601. A time zone is read and not applied
//   parts         of "year", "month", "weekday" (Monday 0), "hour", "days" (since 1970-01-01)
//   cycles        month, weekday and hour as "sine" (sine and cosine of their angle), "words" (one_hot) or "number"
//
// Nothing here keeps a state beyond its objects. A fitted Column may be used by several threads.
#pragma once

#include "belay/columns/cells.h"
#include "belay/columns/column.h"
#include "belay/columns/fit.h"
#include "belay/columns/guess.h"
#include "belay/columns/options.h"
