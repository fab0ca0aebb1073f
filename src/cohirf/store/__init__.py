"""Files: saved models, checkpoints of fits, their archive format, and files that are replaced as a
whole.

====================  =================================================================
:mod:`.models`        save and load a fitted model
:mod:`.checkpoint`    resume a killed fit
:mod:`.parameters`    estimators as JSON
:mod:`.schema`        nested dataclasses as JSON and arrays, from the types of their fields
:mod:`.archive`       the file format of all of these: records with digests
:mod:`.files`         atomic replacement, temporary files, and errors that name the file
====================  =================================================================
"""
