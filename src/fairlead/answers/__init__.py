"""
What a control plane answers with: documents, typed once, for server, client, screens and --json.

Imports contract and errors; imported by everything that decides, tells or shows. The words of
closed lists (`words`) cost nothing to import; documents are msgspec Structs, and their JSON Schema
is docs/reference/answers.schema.json. A field may be added; one that is renamed or removed makes
another VERSION.
"""

# In the path of every request, and in a plan that was saved.
VERSION = "v1"
