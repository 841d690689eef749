"""The counterfactual gate: does an assistant decide otherwise when only a protected attribute changes?

`pairs` and `context` read what experts write, `extract` reads answers, `dimensions` and `statistics` compare two groups
of answers, `engine` runs the stages and gives verdicts; all of these know no network. `client`, `embeddings`,
`model_reader` talk to endpoints, `render` and `cli` to people. numpy and the encoders are
imported inside functions only, so that importing this package stays cheap.
"""
