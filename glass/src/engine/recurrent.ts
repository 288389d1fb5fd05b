// Operations of recurrent models.

import type { Op } from "./ops";

export const OPS: Record<string, Op> = {};
