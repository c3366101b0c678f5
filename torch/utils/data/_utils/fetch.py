"""From indices to a batch; errors say which sample they come from."""

from torch.utils.data._utils.collate import default_collate


def _tell(error, dataset, what):
    """Adds to an error of the user's code where it happened."""
    error.add_note(f"while {what} of {type(dataset).__name__} was fetched")


class _BaseDatasetFetcher:
    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index):
        raise NotImplementedError(f"{type(self).__name__}.fetch")

    def _collate(self, data, names):
        if self.auto_collation and self.collate_fn is default_collate:
            for i, sample in enumerate(data):
                if sample is None:
                    raise TypeError(f"sample {names(i)} of {type(self.dataset).__name__} is None; "
                                    "return a value, or give a collate_fn that drops it")
        return self.collate_fn(data)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def _sample(self, index):
        try:
            return self.dataset[index]
        except Exception as error:
            what = f"sample {index!r}"
            if isinstance(error, IndexError):
                try:
                    what += f" (it has {len(self.dataset)})"
                except TypeError:
                    pass
            _tell(error, self.dataset, what)
            raise

    def fetch(self, possibly_batched_index):
        if not self.auto_collation:
            return self.collate_fn(self._sample(possibly_batched_index))
        indices = possibly_batched_index
        if hasattr(self.dataset, "__getitems__") and self.dataset.__getitems__:
            try:
                data = self.dataset.__getitems__(indices)
            except Exception as error:
                _tell(error, self.dataset, f"the batch {indices!r:.200}")
                raise
        else:
            data = [self._sample(i) for i in indices]
        return self._collate(data, lambda i: indices[i] if i < len(indices) else i)


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False
        self.count = 0

    def fetch(self, possibly_batched_index):
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        data = []
        for _ in possibly_batched_index:
            try:
                data.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(possibly_batched_index)):
            raise StopIteration
        start = self.count
        self.count += len(data)
        return self._collate(data, lambda i: start + i)
