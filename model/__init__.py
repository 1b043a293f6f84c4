"""The training program of Callgate's embedded search model.

A text's vector is the sum of one row per piece, made unit length. There is no
network to run, so the model answers in microseconds inside the daemon; all
that was learned lies in the rows. README.md beside this file says how to
repeat the training and how to do it with your own data.

Modules, in the order of the steps:

    recipe      every number that can be turned, in one place
    normalise   text to words; the one normaliser, ported to Go
    texts       reads the training texts
    tokenizer   words to pieces; trains the pieces
    corpus      encodes and samples the training pairs
    phrases     the polite words that surround requests, by language
    teacher     vectors of a larger model for the English texts
    train       learns the rows
    tensors     the safetensors container, without its library
    export      rows to the folder that Callgate reads
    temper      better rows in closed form, after the training
    reference   the exact path from text to vector, standard library only
    evaluate    how good a folder is, and whether it beats another
"""
