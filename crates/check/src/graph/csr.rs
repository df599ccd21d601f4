//! Edge lists and their layout by source.

/// Edges as they are found.
#[derive(Default, Debug, Clone)]
pub struct EdgeList {
    /// Source and target, packed.
    pairs: Vec<u64>,
    /// Kind of each edge; empty if all edges are alike.
    kinds: Vec<u8>,
}

impl EdgeList {
    /// Adds an edge without a kind.
    #[inline]
    pub fn push(&mut self, from: u32, to: u32) {
        self.pairs.push(u64::from(from) << 32 | u64::from(to));
    }

    /// Adds an edge with a kind; not to be mixed with [`EdgeList::push`].
    #[inline]
    pub fn push_kind(&mut self, from: u32, to: u32, kind: u8) {
        self.push(from, to);
        self.kinds.push(kind);
    }

    /// How many edges.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The edges.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, u8)> + '_ {
        self.pairs.iter().enumerate().map(|(at, pair)| {
            ((pair >> 32) as u32, *pair as u32, self.kinds.get(at).copied().unwrap_or(0))
        })
    }

    /// Whether all edges lead to larger numbers.
    pub fn leads_forward(&self) -> bool {
        self.pairs.iter().all(|pair| ((pair >> 32) as u32) < *pair as u32)
    }

    /// Takes over the edges of another list.
    pub fn append(&mut self, other: &mut EdgeList) {
        self.pairs.append(&mut other.pairs);
        self.kinds.append(&mut other.kinds);
    }
}

/// Edges by source.
#[derive(Debug, Clone)]
pub struct Csr {
    starts: Vec<u32>,
    targets: Vec<u32>,
    kinds: Vec<u8>,
}

impl Csr {
    /// Lays out the edges of a graph with `nodes` nodes, keeping the order of each node's edges.
    pub fn new(nodes: usize, edges: &EdgeList) -> Csr {
        let mut starts = vec![0_u32; nodes + 2];
        for pair in &edges.pairs {
            starts[(pair >> 32) as usize + 2] += 1;
        }
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut targets = vec![0; edges.pairs.len()];
        let mut kinds = vec![0; edges.kinds.len()];
        for (at, pair) in edges.pairs.iter().enumerate() {
            let slot = &mut starts[(pair >> 32) as usize + 1];
            targets[*slot as usize] = *pair as u32;
            if let Some(kind) = edges.kinds.get(at) {
                kinds[*slot as usize] = *kind;
            }
            *slot += 1;
        }
        starts.pop();
        Csr { starts, targets, kinds }
    }

    /// How many nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many edges.
    pub fn edges(&self) -> usize {
        self.targets.len()
    }

    /// The targets of a node's edges.
    #[inline]
    pub fn targets(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// The targets and kinds of a node's edges.
    #[inline]
    pub fn out(&self, node: u32) -> impl Iterator<Item = (u32, u8)> + '_ {
        let range = self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize;
        let kinds = self.kinds.get(range.clone()).unwrap_or(&[]);
        let targets = &self.targets[range];
        targets.iter().enumerate().map(move |(at, to)| (*to, kinds.get(at).copied().unwrap_or(0)))
    }

    /// Position of a node's first edge.
    #[inline]
    pub(crate) fn start(&self, node: u32) -> u32 {
        self.starts[node as usize]
    }

    /// Target and kind of the edge at a position.
    #[inline]
    pub(crate) fn edge_at(&self, at: u32) -> (u32, u8) {
        (self.targets[at as usize], self.kinds.get(at as usize).copied().unwrap_or(0))
    }
}
