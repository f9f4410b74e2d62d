# The architecture as data: every module and the modules it may include, directly.
# neap_library() refuses a dependency that is not listed here, and the test `layering`
# compares the #include lines of the tree with this table.
# schedule, arena, traffic, census, pipeline and learn are pure combinatorics: they know no neural
# network.
set(NEAP_MODULES base io graph schedule arena traffic pipeline learn census ops formats plan stream execute compile cascade rewrite deliver stages zoo report picture bench batch api)

set(NEAP_MAY_USE_base)
set(NEAP_MAY_USE_io       base)
set(NEAP_MAY_USE_graph    base)
set(NEAP_MAY_USE_schedule base)
set(NEAP_MAY_USE_arena    base)
set(NEAP_MAY_USE_traffic  base)
set(NEAP_MAY_USE_pipeline base)
set(NEAP_MAY_USE_census   base schedule)
set(NEAP_MAY_USE_learn    base schedule pipeline)
set(NEAP_MAY_USE_ops      base graph)
set(NEAP_MAY_USE_formats  base io graph ops)
set(NEAP_MAY_USE_plan     base graph ops)
set(NEAP_MAY_USE_stream   base graph ops plan)
set(NEAP_MAY_USE_execute  base graph ops plan)
set(NEAP_MAY_USE_compile  base graph ops schedule learn arena traffic plan stream)
set(NEAP_MAY_USE_stages   base graph ops plan compile pipeline learn)
# cascade: its tests run what it realises.
set(NEAP_MAY_USE_cascade  base graph ops plan compile execute)
set(NEAP_MAY_USE_rewrite  base graph ops plan compile)
# deliver: from a file to the best plan of several kinds.
set(NEAP_MAY_USE_deliver  base io graph ops formats plan stream compile rewrite cascade)
set(NEAP_MAY_USE_zoo      base graph execute)
set(NEAP_MAY_USE_report   base graph plan compile traffic)
set(NEAP_MAY_USE_picture  base graph ops plan compile report)
set(NEAP_MAY_USE_bench    base graph plan compile rewrite cascade stages pipeline schedule arena traffic census zoo execute report picture)
set(NEAP_MAY_USE_batch    base io graph formats plan compile rewrite deliver)
# api: the doors for C and C++.
set(NEAP_MAY_USE_api      base graph schedule arena formats plan execute compile deliver)
