import { T } from "../state/strings";

export function Choice() {
  return <p class="lead">{T.comesLater}</p>;
}
