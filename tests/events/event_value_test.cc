// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/event_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "runtime/events/hparams.h"
#include "runtime/events/matrix.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;

// "scalar loss 0.5", "text note hello"
std::vector<std::string> shown(EventValues& values, const pb::Event& event) {
  std::vector<std::string> lines;
  values.for_each(event, [&](const EventValue& v) {
    lines.push_back(v.kind + " " + v.tag + " " + (v.number ? std::to_string(*v.number).substr(0, 6) : v.text));
  });
  return lines;
}

pb::Summary::Value* add(pb::Event& event, const std::string& tag, const std::string& plugin = "") {
  pb::Summary::Value* v = event.mutable_summary()->add_value();
  v->set_tag(tag);
  if (!plugin.empty()) v->mutable_metadata()->mutable_plugin_data()->set_plugin_name(plugin);
  return v;
}

TEST(EventValues, OfTheOldFormAreWhatTheirFieldIs) {
  pb::Event event;
  add(event, "loss")->set_simple_value(0.5f);
  pb::HistogramProto& h = *add(event, "weights")->mutable_histo();
  h.set_num(4), h.set_sum(6), h.set_min(-1), h.set_max(5);
  pb::Summary::Image& image = *add(event, "digit")->mutable_image();
  image.set_width(28), image.set_height(20);
  add(event, "sound")->mutable_audio()->set_encoded_audio_string("12345");
  EventValues values;
  EXPECT_THAT(shown(values, event),
              ElementsAre("scalar loss 0.5000", "histogram weights count 4, min -1, max 5, mean 1.5",
                          "image digit 28 x 20", "audio sound 5 bytes"));
}

TEST(EventValues, OfTheNewFormAreWhatTheirFirstValueSays) {
  EventValues values;
  pb::Event first;
  pb::TensorProto& scalar = *add(first, "loss", "scalars")->mutable_tensor();
  scalar.set_dtype(pb::DT_FLOAT), scalar.add_float_val(0.25f);
  pb::TensorProto& text = *add(first, "note", "text")->mutable_tensor();
  text.set_dtype(pb::DT_STRING), text.add_string_val("one"), text.add_string_val("two");
  text.mutable_tensor_shape()->add_dim()->set_size(2);
  pb::TensorProto& images = *add(first, "digits", "images")->mutable_tensor();
  images.set_dtype(pb::DT_STRING);
  for (const char* s : {"28", "20", "png", "png"}) images.add_string_val(s);
  EXPECT_THAT(shown(values, first),
              ElementsAre("scalar loss 0.2500", "text note one\ntwo", "image digits 2 of 28 x 20"));
  pb::Event second;  // without metadata
  pb::TensorProto& again = *add(second, "digits")->mutable_tensor();
  again.set_dtype(pb::DT_STRING);
  for (const char* s : {"8", "8", "png"}) again.add_string_val(s);
  EXPECT_THAT(shown(values, second), ElementsAre("image digits 1 of 8 x 8"));
}

TEST(EventValues, HoldTheirContentsOnlyWhereTheseAreAskedFor) {
  pb::Event event;
  add(event, "loss")->set_simple_value(0.5f);
  add(event, "digit")->mutable_image()->set_encoded_image_string("png");
  pb::TensorProto& images = *add(event, "digits", "images")->mutable_tensor();
  images.set_dtype(pb::DT_STRING);
  for (const char* s : {"28", "20", "first", "second"}) images.add_string_val(s);
  pb::TensorProto& none = *add(event, "nothing", "images")->mutable_tensor();
  none.set_dtype(pb::DT_STRING);
  for (const char* s : {"28", "20"}) none.add_string_val(s);
  pb::Event graph;
  graph.set_graph_def("nodes");
  const auto contents = [&](EventContents how) {
    EventValues values(how);
    std::vector<std::string> all;
    for (const pb::Event& e : {event, graph})
      values.for_each(e, [&](const EventValue& v) { all.push_back(v.content); });
    return all;
  };
  EXPECT_THAT(contents(EventContents::kHeld), ElementsAre("", "png", "first", "", "nodes"));
  EXPECT_THAT(contents(EventContents::kDescribed), ElementsAre("", "", "", "", ""));
}

TEST(EventValues, AHistogramOfTheNewFormHoldsTheSameAsOneOfTheOld) {
  for (const bool raw : {false, true}) {
    pb::Event event;
    pb::TensorProto& t = *add(event, "weights", "histograms")->mutable_tensor();
    t.set_dtype(pb::DT_DOUBLE);
    const double rows[] = {-1, 0, 2, 0, 3, 5};  // left, right, count
    if (raw)
      t.set_tensor_content(std::string(reinterpret_cast<const char*>(rows), sizeof(rows)));
    else
      for (const double x : rows) t.add_double_val(x);
    pb::HistogramProto h;
    EventValues(EventContents::kHeld).for_each(event, [&](const EventValue& v) {
      EXPECT_TRUE(h.ParseFromString(v.content));
    });
    EXPECT_EQ(h.min(), -1);
    EXPECT_EQ(h.max(), 3);
    EXPECT_THAT(h.bucket_limit(), ElementsAre(0, 3));
    EXPECT_THAT(h.bucket(), ElementsAre(2, 5));
  }
}

TEST(EventValues, ATensorOfOneElementIsANumberHoweverItIsStored) {
  const auto number = [](const pb::TensorProto& t) {
    pb::Event event;
    *add(event, "x")->mutable_tensor() = t;
    EventValues values;
    return shown(values, event).at(0);
  };
  pb::TensorProto t;
  t.set_dtype(pb::DT_DOUBLE);
  const double half = 0.5;
  t.set_tensor_content(std::string(reinterpret_cast<const char*>(&half), sizeof(half)));
  EXPECT_EQ(number(t), "scalar x 0.5000");
  t.Clear(), t.set_dtype(pb::DT_INT64), t.add_int64_val(7);
  EXPECT_EQ(number(t), "scalar x 7.0000");
  t.Clear(), t.set_dtype(pb::DT_BOOL), t.add_bool_val(true);
  EXPECT_EQ(number(t), "scalar x 1.0000");
  t.Clear(), t.set_dtype(pb::DT_HALF), t.add_half_val(0x3c00);
  EXPECT_EQ(number(t), "scalar x 1.0000");
  t.Clear(), t.set_dtype(pb::DT_FLOAT), t.add_float_val(1), t.mutable_tensor_shape()->add_dim()->set_size(3);
  EXPECT_EQ(number(t), "tensor x DT_FLOAT [3]");
  t.Clear(), t.set_dtype(pb::DT_FLOAT), t.set_tensor_content("12");  // too short
  EXPECT_EQ(number(t), "tensor x DT_FLOAT []");
}

TEST(EventValues, T_123_AMatrixIsItsRowsUnlessItIsLarge) {
  const auto text = [](const pb::TensorProto& t) {
    pb::Event event;
    *add(event, "x")->mutable_tensor() = t;
    EventValues values;
    return shown(values, event).at(0);
  };
  pb::TensorProto t;
  t.set_dtype(pb::DT_DOUBLE);
  for (const int d : {2, 2}) t.mutable_tensor_shape()->add_dim()->set_size(d);
  const double raw[] = {50, 0, 3.5, std::numeric_limits<double>::quiet_NaN()};
  t.set_tensor_content(std::string(reinterpret_cast<const char*>(raw), sizeof(raw)));
  EXPECT_EQ(text(t), "tensor x [[50,0],[3.5,null]]");
  t.set_tensor_content(t.tensor_content().substr(0, 24));
  EXPECT_EQ(text(t), "tensor x DT_DOUBLE [2, 2]") << "it is cut off";
  t.set_dtype(pb::DT_INT64), t.clear_tensor_content(), t.add_int64_val(1), t.add_int64_val(7);
  EXPECT_EQ(text(t), "tensor x [[1,7],[7,7]]") << "the last one counts for the rest";
  t.mutable_tensor_shape()->mutable_dim(0)->set_size(std::int64_t{1} << 62);
  EXPECT_EQ(text(t), "tensor x DT_INT64 [4611686018427387904, 2]");
}

TEST(Matrix, T_123_ItsTextIsReadBackAndItsTableHasAllDigitsOfACount) {
  const Matrix counts{{1234567, 0}, {0.25, 3}};
  EXPECT_EQ(parse_matrix(matrix_json(counts)), counts);
  EXPECT_TRUE(parse_matrix("[1, 2]").empty());
  EXPECT_TRUE(parse_matrix("DT_FLOAT [2, 2]").empty());
  EXPECT_THAT(matrix_lines("confusion", counts),
              ElementsAre("confusion:", "                 0        1", "        0  1234567        0",
                          "        1     0.25        3"));
  EXPECT_THAT(matrix_lines("confusion", Matrix(21, std::vector<double>(21))),
              ElementsAre("confusion: a matrix [21, 21]"));
}

TEST(EventValues, HParamsAreTheOptionsAndTheEnd) {
  EventValues values;
  pb::Event event;
  const std::vector<HParam> options = {
      {"optimizer.name", std::string("adam")}, {"model.wide", true}, {"run.seed", 42.0}, {"model.rate", 0.001}};
  ASSERT_TRUE(event.mutable_summary()->ParseFromString(hparams_of_start(options, 7)));
  EXPECT_THAT(shown(values, event),
              ElementsAre("hparams _hparams_/session_start_info model.rate = 0.001, model.wide = true, "
                          "optimizer.name = adam, run.seed = 42"));
  ASSERT_TRUE(event.mutable_summary()->ParseFromString(hparams_of_end(true, 8)));
  EXPECT_THAT(shown(values, event), ElementsAre("hparams _hparams_/session_end_info success"));
  ASSERT_TRUE(event.mutable_summary()->ParseFromString(hparams_of_end(false, 8)));
  EXPECT_THAT(shown(values, event), ElementsAre("hparams _hparams_/session_end_info failure"));
  event.Clear();
  add(event, "x", "hparams")->mutable_tensor()->set_dtype(pb::DT_FLOAT);
  event.mutable_summary()->mutable_value(0)->mutable_metadata()->mutable_plugin_data()->set_content("\xff");
  EXPECT_THAT(shown(values, event), ElementsAre("hparams x ")) << "content of no such kind";
}

// By the numbers of its fields, so that a mistake in our messages shows.
TEST(EventValues, HParamsHaveTheLayoutThatTensorBoardReads) {
  pb::Summary summary;
  ASSERT_TRUE(summary.ParseFromString(hparams_of_start({{"lr", 0.5}}, 7)));
  ASSERT_EQ(summary.value_size(), 1);
  const pb::Summary::Value& value = summary.value(0);
  EXPECT_EQ(value.tensor().dtype(), pb::DT_FLOAT);
  ASSERT_EQ(value.tensor().tensor_shape().dim_size(), 1);
  EXPECT_EQ(value.tensor().tensor_shape().dim(0).size(), 0);
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "hparams");
  const std::string half("\0\0\0\0\0\0\xe0\x3f", 8), seven("\0\0\0\0\0\0\x1c\x40", 8);
  const std::string number = "\x11" + half;                                 // Value.number_value = 2, a double
  const std::string entry = "\x0a\x02lr\x12\x09" + number;                  // key = 1, value = 2
  const std::string start = "\x0a\x0f" + entry + "\x29" + seven;            // hparams = 1, start_time_secs = 5
  EXPECT_EQ(value.metadata().plugin_data().content(), "\x1a\x1a" + start);  // session_start_info = 3
  ASSERT_TRUE(summary.ParseFromString(hparams_of_end(false, 7)));
  EXPECT_EQ(summary.value(0).metadata().plugin_data().content(), "\x22\x0b\x08\x02\x11" + seven);
}

TEST(EventValues, OfTheSessionHaveNoTag) {
  EventValues values;
  pb::Event event;
  event.mutable_session_log()->set_status(pb::SessionLog::CHECKPOINT);
  event.mutable_session_log()->set_checkpoint_path("/runs/x/model.ckpt");
  EXPECT_THAT(shown(values, event), ElementsAre("checkpoint  /runs/x/model.ckpt"));
  event.set_graph_def("12345");
  EXPECT_THAT(shown(values, event), ElementsAre("graph  5 bytes"));
  event.mutable_tagged_run_metadata()->set_tag("step 40");
  event.mutable_tagged_run_metadata()->set_run_metadata("123");
  EXPECT_THAT(shown(values, event), ElementsAre("run_metadata step 40 3 bytes"));
  pb::RunMetadata run;
  for (const int start : {1000, 1030}) {
    pb::NodeExecStats& node = *run.mutable_step_stats()->add_dev_stats()->add_node_stats();
    node.set_all_start_micros(start);
    node.set_all_end_rel_micros(20);
  }
  event.mutable_tagged_run_metadata()->set_run_metadata(run.SerializeAsString());
  EXPECT_THAT(shown(values, event), ElementsAre("run_metadata step 40 2 nodes, 50 us"));
  event.set_file_version("brain.Event:2");
  EXPECT_THAT(shown(values, event), ElementsAre());
}

}  // namespace
}  // namespace belay::runtime
