# The architecture as data: every module and the modules it may include, directly.
# neap_library() refuses a dependency that is not listed here, and the test `layering`
# compares the #include lines of the tree with this table.
# schedule and arena are pure combinatorics: they know no neural network.
set(NEAP_MODULES base io graph schedule arena ops formats plan execute compile zoo report batch)

set(NEAP_MAY_USE_base)
set(NEAP_MAY_USE_io       base)
set(NEAP_MAY_USE_graph    base)
set(NEAP_MAY_USE_schedule base)
set(NEAP_MAY_USE_arena    base)
set(NEAP_MAY_USE_ops      base graph)
set(NEAP_MAY_USE_formats  base io graph ops)
set(NEAP_MAY_USE_plan     base graph ops)
set(NEAP_MAY_USE_execute  base graph ops plan)
set(NEAP_MAY_USE_compile  base graph ops schedule arena plan)
set(NEAP_MAY_USE_zoo      base graph execute)
set(NEAP_MAY_USE_report   base graph plan compile)
set(NEAP_MAY_USE_batch    base io graph formats plan compile)
