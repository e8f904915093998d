/* The engine's C API, which python/headroom/_engine.py calls through ctypes. One library serves
   every Python version.

   Private to the package: it may change with any version. Each function returns a headroom_code;
   `headroom_message()` of the same thread then describes the failure. Results are written to
   pointers, which stay unchanged after a failure. Objects are immutable and may be used by any
   thread, except graphs (`graph` below). */
#pragma once

/* NOLINTBEGIN(modernize-*,readability-*): also C. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum headroom_code {
  HEADROOM_OK = 0,
  HEADROOM_USAGE = 1,          /* A wrong argument. */
  HEADROOM_TRACE = 2,          /* The file is unreadable or not a trace. */
  HEADROOM_ENVIRONMENT = 3,    /* A limit, memory, or an internal error. */
  HEADROOM_DOES_NOT_APPLY = 4, /* The trace lacks data that the scenario requires. */
};

/* An opaque engine object. Its type depends on the function that created it. */
typedef struct headroom_object headroom_object;

/* Values in memory that `owner` keeps; null and 0 rows for an empty column. */
typedef struct {
  const void* data;
  int64_t rows;
  int64_t stride;   /* Bytes from a value to the next. */
  const char* type; /* As NumPy writes it: "<i8", "<u4", "|b1". */
  headroom_object* owner;
} headroom_array;

/* Distinct texts, concatenated: text i is bytes[ends[i - 1] : ends[i]]. `codes` refers to them by
 * number; -1: no text. */
typedef struct {
  headroom_array codes, bytes, ends;
} headroom_texts;

/* Options with the meaning of the flags of `headroom report`; a missing text is empty; for a
 * missing number its has_ flag is 0. */
typedef struct {
  int64_t first_step, last_step, rank;
  double measured_step_ms;
  const char *step_marker, *calibration;
  int32_t has_steps, has_rank, has_measured_step_ms, local_state;
} headroom_options;

/* A missing text is null; for a missing number its has_ flag is 0. */
typedef struct {
  const char *kernel, *op, *layer, *phase, *family;
  int64_t stream, device, step;
  int32_t has_stream, has_device, has_step;
  const uint8_t* where; /* By task; null: all. */
  int64_t where_rows;
} headroom_criteria;

const char* headroom_version(void);
const char* headroom_message(void);
void headroom_free(headroom_object* object);
/* Returns the bytes of a text that a function below wrote. */
const char* headroom_text(const headroom_object* text, int64_t* bytes);

/* --- a trace --- */
int headroom_trace_open(const char* path, headroom_object** trace);
int headroom_trace_report(const headroom_object* trace, const headroom_options* options,
                          headroom_object** json);
/* JSON: [[name, sentence, computed, rows or null, [[name, kind, unit, nullable, refers, [word,
 * ...], sentence], ...]], ...] */
int headroom_trace_tables(const headroom_object* trace, headroom_object** json);
int headroom_trace_rows(const headroom_object* trace, int64_t table, int64_t* rows);
int headroom_trace_column(const headroom_object* trace, int64_t table, int64_t column,
                          headroom_array* values);
int headroom_trace_text_count(const headroom_object* trace, int64_t* texts);
/* Writes text ids[i] as text i; codes[i] is i. */
int headroom_trace_texts(const headroom_object* trace, const uint32_t* ids, int64_t count,
                         headroom_texts* texts);
/* Writes -1 if the trace has no such text. */
int headroom_trace_text_id(const headroom_object* trace, const char* text, int64_t bytes,
                           int64_t* id);
/* headroom_stop() cancels the query that received `stop`, from any thread. */
int headroom_stop_new(headroom_object** stop);
int headroom_stop(headroom_object* stop);
/* Runs one statement. A limit of 0 means no limit. */
int headroom_trace_query(const headroom_object* trace, const char* sql, double timeout_s,
                         int64_t memory_mb, const headroom_object* stop, headroom_object** result);
/* JSON: {"names": [...], "rows": N} */
int headroom_query_head(const headroom_object* result, headroom_object** json);
/* kinds: 0 null, 1 integer, 2 real (its bits), 3 text, 4 bytes; values of kinds 3 and 4 are indexes
 * into headroom_query_texts(). */
int headroom_query_column(const headroom_object* result, int64_t column, headroom_array* kinds,
                          headroom_array* values);
int headroom_query_texts(const headroom_object* result, headroom_texts* texts);

/* --- a recorded job --- */
int headroom_job_open(const headroom_object* trace, const headroom_options* options,
                      headroom_object** job);
/* JSON: {"step_ms", "recorded_step_ms", "steps", "tasks", "edges", "calibration"} */
int headroom_job_head(const headroom_object* job, headroom_object** json);
/* table: "tasks", "edges" or "gradients"; columns as python/headroom/columns.py names them. Writes
 * `texts` for names, else `values`. */
int headroom_job_column(const headroom_object* job, const char* table, const char* column,
                        headroom_array* values, headroom_texts* texts, int32_t* is_text);
int headroom_job_whatif(const headroom_object* job, const char* const* scenarios, int64_t count,
                        headroom_object** json);

/* --- a graph to edit, by one thread at a time --- */
int headroom_graph_new(const headroom_object* job, headroom_object** graph);
int headroom_graph_copy(const headroom_object* graph, headroom_object** copy);
int headroom_graph_reset(headroom_object* graph);
/* Writes how often edits changed a duration, inserted a task, removed a task. */
int headroom_graph_counts(const headroom_object* graph, int64_t counts[3]);
/* column: "durations_ns" or "work_before_ns". */
int headroom_graph_column(const headroom_object* graph, const char* column, headroom_array* values);
int headroom_graph_select(const headroom_object* graph, const headroom_criteria* criteria,
                          headroom_object** selected);
int headroom_selected(const headroom_object* selected, headroom_array* tasks, int32_t* has_host);
int headroom_graph_time_ms(const headroom_object* graph, const headroom_object* selected,
                           double* ms);
/* edit: "scale", "set_duration" (us), "remove", "scale_host" or "remove_waits" (writes the number
 * of calls that waited). */
int headroom_graph_edit(headroom_object* graph, const char* edit, const headroom_object* selected,
                        double value, int64_t* count);
/* host_us, launch_us: null for the default. */
int headroom_graph_insert(headroom_object* graph, const headroom_object* selected, int32_t before,
                          double duration_us, const double* host_us, const double* launch_us,
                          headroom_array* tasks);
int headroom_graph_channel(headroom_object* graph, const char* name, const char* policy);
int headroom_graph_insert_transfer(headroom_object* graph, const char* channel, double duration_us,
                                   int32_t priority, const int64_t* after, int64_t after_rows,
                                   const int64_t* before, int64_t before_rows, int64_t* task);
int headroom_graph_channel_tasks(const headroom_object* graph, const char* channel, int64_t* tasks);
int headroom_graph_scale_channel(headroom_object* graph, const char* channel, double factor);
int headroom_graph_clear_channel(headroom_object* graph, const char* channel);
int headroom_graph_apply(headroom_object* graph, const char* scenario, headroom_object** remarks);
int headroom_graph_replay(const headroom_object* graph, headroom_object** replay);
/* JSON: {"step_ms", "step_walls_ms": [...], "settled"} */
int headroom_replay_head(const headroom_object* replay, headroom_object** json);
/* column: "starts_ns", "ends_ns", "path_tasks", "path_lags_ns", "path_runs_ns", or "path_edges" as
 * `texts`. */
int headroom_replay_column(const headroom_object* replay, const char* column,
                           headroom_array* values, headroom_texts* texts, int32_t* is_text);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-*,readability-*) */
