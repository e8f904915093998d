// Samples the stack of Python's main thread, for a recording.
#pragma once

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000  // NOLINT(readability-identifier-naming): Python's.
#endif
#include <Python.h>

/// sample_stacks(hz, name_of, signal, /): starts to sample, or does nothing if this process
/// samples.
PyObject* StacksStart(PyObject* module, PyObject* args);
/// stop_stacks(): stops to sample and waits for the sampling thread.
PyObject* StacksStop(PyObject* module, PyObject* unused);
