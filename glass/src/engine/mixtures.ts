// Operations of a mixture of experts.

import type { Op } from "./ops";

export const OPS: Record<string, Op> = {};
