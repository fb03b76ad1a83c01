"""Chemical competence: does a model's likelihood prefer a true description of a crystal over a false one?"""
