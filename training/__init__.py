"""Fine-tuning with the environment: the one package that may import torch, transformers and trl.

Imports run one way, `rewards` <- `atomworld_env` <- `training`.
"""
