// All texts of the page, by view. A translation is another object of this shape.

import { choice } from "./strings/choice";
import { frame } from "./strings/frame";
import { head } from "./strings/head";
import { heads } from "./strings/heads";
import { pieces } from "./strings/pieces";
import { proof } from "./strings/proof";
import { stream } from "./strings/stream";
import { tour } from "./strings/tour";
import { whatif } from "./strings/whatif";
import { whole } from "./strings/whole";

export const T = { ...frame, whole, pieces, head, heads, stream, choice, proof, whatif, tour };
