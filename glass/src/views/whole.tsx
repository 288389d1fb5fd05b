import { T } from "../state/strings";

export function Whole() {
  return <p class="lead">{T.comesLater}</p>;
}
