"""Write: remember, revise and forget memories; detect duplicates and superseded memories."""
