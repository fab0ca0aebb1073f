"""The application: tables in, words, pages and plots out.

The library (everything beside this package) finds clusters and states facts about them. The
application prepares raw tables for it, describes what it found, draws it, and is the program
``cohirf``.
"""
